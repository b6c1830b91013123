"""A thousand edits of one model, and more: what is kept, what follows, what breaks, which switch is needed.

Commands:
    python -m experiments.many_edits
    python -m experiments.many_edits --scale laptop --edits 10000 --editors keyed lora-down

Worlds are those of `experiments.demo_worlds`, whose runs are used where they are there, but for the first, on
which keyed storage was set. Each editor makes the same requests, which all contradict the truth, on top of
each other; after 1, 10, 100, ... of them all facts of the world are asked. The agent makes the same edits,
those of each subject by themselves, so that what it gives up counts as no forgetting. `memit` stands there
without and with each of its switches; plain fine-tuning reads all requests together, in mini-batches; and
`retrain` trains from scratch with them in the corpus. One subject of five is never edited. Settings are the
demo's, but `memit` and `rome` read one opening, not eight, and take 10 steps at four times the rate, not 40:
a sixteenth of the arithmetic. At the scale `laptop` there is one world, of 100,000 facts, whose model
`experiments.pretrain --preset paper-laptop` trains.
"""

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from bayes.interface import Agent
from bayes.request import EditRequest
from corpus.arrays import load_arrays, save_arrays
from corpus.files import staged_file
from experiments import stages
from experiments.benchmarks.scaled import PAPER_FACTS
from experiments.command import launch_module
from experiments.record import estimate_as_list
from experiments.settings import StagedSettings
from experiments.studies.batch_tuning import (
    BatchTuning,
    Training,
    follow_training,
    training_from_scratch,
)
from experiments.studies.demo_worlds import list_world_runs
from experiments.studies.edit_sequences import (
    AgentAnswers,
    ModelAnswers,
    Stream,
    cluster_by_world,
    draw_stream,
    follow_agent,
    follow_editor,
    weigh_request,
)
from experiments.studies.pretrain import name_run
from experiments.studies.revision import AT_NAMES
from lm.editors.interface import CorpusSample
from lm.editors.keyed import AT_THE_NAME
from lm.language_model import LanguageModel
from testbed.console import show_progress
from testbed.engine.catalogue import default_configurations
from testbed.engine.checks import prepare_editor
from testbed.engine.controls.retrain import Retrain
from testbed.engine.methods import Method
from testbed.engine.tuning import method_named
from testbed.engine.versions import identify_method
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.protocol import ABSENT, Case
from testbed.run.agents import paper_agent
from testbed.run.model import corpus_sample, load_model
from testbed.run.runs import Run
from testbed.run.strata import StatementIndex, support_of
from testbed.run.world import World, load_world
from testbed.scores.metric import Metric, mean_of
from testbed.scores.statistics import Estimate, estimate_metrics
from testbed.scores.tables import Cell, Table

LOCATE = {"contexts": 1, "steps": 10, "rate": 0.4}
SWITCHES = ("accumulate", "null_space", "normalise", "anchor")
RETRAIN = "retrain"
EDITORS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    **{name: (name, {}) for name in ("keyed", "keyed-counting", "keyed-request", "lora-down")},
    "keyed, decay": ("keyed", {"fit": replace(AT_THE_NAME, decay=0.03)}),
    "keyed, 30 steps": ("keyed", {"fit": replace(AT_THE_NAME, steps=30)}),
    "keyed, two layers, 40 steps": AT_NAMES["keyed, two layers, 40 steps"],
    "rome": ("rome", LOCATE),
    "memit": ("memit", LOCATE),
    **{f"memit, {switch}": ("memit", LOCATE | {switch: True}) for switch in SWITCHES},
    "memit, accumulate, null_space": ("memit", LOCATE | {"accumulate": True, "null_space": True}),
    "memit, all": ("memit", LOCATE | dict.fromkeys(SWITCHES, True)),
    "sparse": ("sparse", {}),
    **{f"sparse, {rate:g}": ("sparse", {"learning_rate": rate}) for rate in (1e-3, 3e-3, 3e-2, 0.1)},
    RETRAIN: (RETRAIN, {}),
}
"""Who edits: the editor, and how its settings differ from the demo's."""
TUNINGS: Mapping[str, BatchTuning] = {
    **{f"mini-batches, {rate:g}": BatchTuning(rate=rate) for rate in (1e-3, 3e-3, 1e-2)},
    **{
        f"mini-batches, all, {rate:g}": BatchTuning(down_only=False, rate=rate) for rate in (3e-4, 1e-3, 3e-3)
    },
}
"""Plain fine-tuning on all requests together, by its rate."""
SUPPORTED = 2
AT_ONCE, LATEST = "at once", "latest kept"
FOLLOWS, CHANGED = "followed", "falsely changed"
OTHERS, OTHERS_BEFORE = "others right", "others right before"
NATS, LATER = "others' nats, more", "kept after training"
REVISED = "given up as by the agent"
AGENT_KEEPS, OF_ALL = "of the latest, kept by the agent", "kept by it after all edits"
COLUMNS = (
    AT_ONCE, LATEST, REVISED, AGENT_KEEPS, OF_ALL, FOLLOWS, CHANGED, OTHERS_BEFORE, OTHERS, NATS, LATER,
)  # fmt: skip
_LIFE = np.geomspace(1.0, 1e7, 700)
_DROP = 1.92
"""Half of the 95% quantile of chi square: how far the log-likelihood may fall inside an interval."""


@dataclass(frozen=True)
class Settings(StagedSettings):
    """How many worlds, edits and editors."""

    scale: Literal["demo", "laptop"] = "demo"
    """demo: worlds of the demo's kind; laptop: one of 100,000 facts."""
    worlds: int = 3
    """Worlds, of seeds 1, 2, ..."""
    first: int = 1
    """The first of them."""
    development: bool = False
    """Only the world of seed 0, on which settings are chosen."""
    on: tuple[str, ...] = ()
    """Names of finished runs, such as those of experiments.revision, to edit in place of these worlds."""
    edits: int = 1000
    """Requests, on top of each other."""
    later: int = 100
    """Steps of training afterwards, on facts of subjects that were not edited."""
    editors: tuple[str, ...] = tuple(EDITORS)
    """Who edits."""

    def __post_init__(self) -> None:
        super().__post_init__()
        every = (*EDITORS, *TUNINGS)
        if unknown := set(self.editors) - set(every):
            raise ValueError(f"{', '.join(sorted(unknown))}: not among {'; '.join(every)}")
        chosen = (self.worlds, self.first) != (Settings.worlds, Settings.first)
        if chosen + self.development + bool(self.on) + (self.scale == "laptop") > 1:
            raise ValueError(
                "worlds and first choose among the demo's worlds for reports, and on names runs; for "
                "development, and at scale laptop, there is one world"
            )

    @property
    def world_runs(self) -> list[Run]:
        """A run for each world."""
        if self.on:
            return [Run(self.runs, name) for name in self.on]
        if self.scale == "laptop":
            return [Run(self.runs, name_run(self.preset, PAPER_FACTS))]
        if self.development:
            return list_world_runs(self.runs, 1)
        return list_world_runs(self.runs, self.first + self.worlds)[self.first :]

    @property
    def preset(self) -> str:
        """Of corpus, model and edits."""
        return {"demo": "tiny", "laptop": "paper-laptop"}[self.scale]

    @property
    def marks(self) -> list[int]:
        """Numbers of edits after which all facts are asked: powers of ten, and all."""
        powers = [10**i for i in range(9) if 10**i < self.edits]
        return [*powers, self.edits]


def run_study(options: Settings) -> None:
    """Models, edits, tables, record."""
    stages.run_in_stages(options, study_stages, record_study)


def study_stages(options: Settings, clock: stages.Clock) -> Iterator[stages.Stage]:
    """Models, then the agent's answers, and each editor's, a world after another."""
    for run in () if options.on else options.world_runs:
        where = stages.settings_of_run(run, world_seed(run))
        recipe = replace(TRAIN[options.preset], **where)
        yield from stages.model_stages(replace(CORPUS[options.preset], **where), recipe, clock)
    for run in options.world_runs:
        yield f"the agent, {run.name}", partial(file_agent, options, run)
        for name in options.editors:
            yield f"{name}, {run.name}", partial(file_editor, options, run, name)


def world_seed(run: Run) -> int:
    """The seed that a run's name ends in; 0 where it ends in none."""
    ending = run.name.rpartition("-")[2]
    return int(ending) if ending.isdigit() else 0


def method_of(options: Settings, run: Run, name: str, world: World) -> Method:
    """One of EDITORS."""
    editor, changes = EDITORS[name]
    settings = replace(
        EDIT[options.preset], editors=(editor,), **stages.settings_of_run(run, world_seed(run))
    )
    config: Any = settings.configs.get(editor, default_configurations().get(editor))
    if changes:
        settings = replace(settings, configs={**settings.configs, editor: replace(config, **changes)})
    return method_named(editor, settings, world)


def file_of(options: Settings, run: Run, what: str, identity: Any = None) -> Path:
    """Where the answers of somebody lie, under a hash of all that they depend on."""
    made_from = [path.read_text() for path in (run.config_file, run.finished_file)]
    identity = [identity, options.edits, options.later, made_from]
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True, default=str).encode()).hexdigest()
    return run.folder / "many-edits" / f"{what.replace(', ', '-')}-{options.edits}-{digest[:8]}.npz"


def file_of_editor(options: Settings, run: Run, name: str, world: World) -> Path:
    """Where what an editor made of the requests lies."""
    if name in TUNINGS:
        return file_of(options, run, name, asdict(TUNINGS[name]))
    return file_of(
        options, run, name, identify_method(EDITORS[name][0], method_of(options, run, name, world))
    )


def file_agent(options: Settings, run: Run) -> None:
    """The agent's answers, where they are not there yet."""
    path = file_of(options, run, "agent, each subject")
    if not path.exists():
        world = load_world(run)
        stream = draw_stream(world, options.edits, world_seed(run))
        answers = follow_agent(paper_agent(world), world, stream, options.marks)
        with staged_file(path) as aside, aside.open("wb") as file:
            save_arrays(answers, file)


def file_editor(options: Settings, run: Run, name: str) -> None:
    """What an editor made of the requests, where it is not there yet."""
    world = load_world(run)
    path = file_of_editor(options, run, name, world)
    if path.exists():
        return
    seed = world_seed(run)
    stream = draw_stream(world, options.edits, seed)
    model, _ = load_model(run, world)
    with show_progress(name, options.edits) as advance:
        if name in TUNINGS or name == RETRAIN:
            training = training_of(options, run, name, world, model, stream)
            # Only what stands in a corpus is weighed.
            is_weighed = name == RETRAIN
            weights = weights_of(paper_agent(world), world, stream) if is_weighed else np.zeros(options.edits)
            answers = follow_training(
                training, model, world, stream, weights, options.marks, seed, options.later, advance
            )
        else:
            editor = method_of(options, run, name, world).editor
            state = prepare_editor(editor, model, sample_for(run, world, stream))
            answers = follow_editor(
                editor, model, world, state, stream, options.marks, seed, options.later,
                time.perf_counter, advance,
            )  # fmt: skip
    with staged_file(path) as aside, aside.open("wb") as file:
        save_arrays(answers, file)


def training_of(
    options: Settings, run: Run, name: str, world: World, model: LanguageModel, stream: Stream
) -> Training:
    """One of TUNINGS, or training from scratch."""
    if name in TUNINGS:
        return TUNINGS[name].training(world_seed(run))
    editor = method_of(options, run, name, world).editor
    assert isinstance(editor, Retrain)
    return training_from_scratch(editor, model, sample_for(run, world, stream))


def weights_of(agent: Agent, world: World, stream: Stream) -> np.ndarray:
    """float[N]: how much evidence each request of a stream is, were it the only one."""
    return np.array([weigh_request(agent, world, stream, n).weight for n in range(len(stream.facts))])


def sample_for(run: Run, world: World, stream: Stream) -> CorpusSample:
    """What editors may read of the corpus before these requests."""
    return corpus_sample(run, world, cases_of(world, stream), world_seed(run))


def cases_of(world: World, stream: Stream) -> list[Case]:
    """The requests as cases that ask nothing, so that no practice edit is about them."""
    graph = world.graph
    return [
        Case(EditRequest(int(graph.subject[f]), int(graph.relation[f]), o), 1.0, ABSENT, {}, ())
        for f, o in zip(stream.facts.tolist(), stream.objects.tolist(), strict=True)
    ]


class WorldAnswers(NamedTuple):
    """One world's requests, and what the agent and an editor made of them."""

    world: World
    stream: Stream
    agent: AgentAnswers
    model: ModelAnswers


def read_world_answers(options: Settings, run: Run, name: str) -> WorldAnswers:
    """What lies in the files of a world."""
    world = load_world(run)
    stream = draw_stream(world, options.edits, world_seed(run))
    agent = load_arrays(AgentAnswers, file_of(options, run, "agent, each subject"))
    model = load_arrays(ModelAnswers, file_of_editor(options, run, name, world))
    return WorldAnswers(world, stream, agent, model)


def metrics_at(one: WorldAnswers, mark: int, number: int) -> dict[str, Metric]:
    """Metrics of one world after `mark` edits, the `number`-th mark; a row a fact.

    followed: of facts that no request is about and whose answer of the agent has moved, where the latest
    request of their cause names an object that two or more subjects have.
    given up as by the agent: of latest requests that the agent answers otherwise by now, because of later
    edits, those that the model answers as it does.
    falsely changed: of stated facts that no request is about, that the agent keeps and the model knew.
    """
    world, stream, agent, model = one
    graph, facts = world.graph, len(world.graph)
    latest = stream.latest(mark)
    requested, wanted = np.zeros(facts, bool), np.full(facts, -2)
    requested[stream.facts[latest]], wanted[stream.facts[latest]] = True, stream.objects[latest]
    now, moved, gold = model.answers[number], agent.moved[number], agent.answers[number]
    keeps = requested & (gold == wanted)
    cause = graph.upstream_fact
    support = support_of(world)[graph.relation[cause], np.maximum(wanted[cause], 0)]
    follows = ~requested & moved & (cause >= 0) & requested[cause] & (support >= SUPPORTED)
    stated = np.isin(np.arange(facts), world.stated_facts)
    stays = stated & ~requested & ~moved & (model.before == agent.before)
    others = stream.spared & stated & ~moved
    said_at = np.zeros(facts)
    count = np.bincount(stream.facts[:mark], minlength=facts).astype(float)
    np.add.at(said_at, stream.facts[:mark], model.says[:mark])
    metrics = {
        AT_ONCE: Metric(said_at, count, share=True),
        LATEST: mean_of(now == wanted, keeps),
        REVISED: mean_of(now == gold, requested & ~keeps),
        AGENT_KEEPS: mean_of(gold == wanted, requested),
        OF_ALL: mean_of(agent.answers_of_all[number] == wanted, requested),
        FOLLOWS: mean_of(now == gold, follows),
        CHANGED: mean_of(now != model.before, stays),
        OTHERS_BEFORE: mean_of(model.before == agent.before, others),
        OTHERS: mean_of(now == agent.before, others),
        NATS: mean_of((model.nats[number] - model.nats_before).astype(float), others),
    }
    if mark == len(stream.facts):
        metrics[LATER] = mean_of(model.later == wanted, keeps)
    return metrics


def estimate_at(worlds: Sequence[WorldAnswers], mark: int, number: int) -> dict[str, Estimate]:
    """The metrics of worlds pooled; facts of one subject, and of one world, depend on each other."""
    found = [metrics_at(one, mark, number) for one in worlds]
    pooled = {name: pool_metrics([metrics[name] for metrics in found]) for name in found[0]}
    clusters = cluster_by_world([one.world.graph.subject for one in worlds])
    return estimate_metrics(pooled, clusters, np.ones(len(clusters["world"]), bool))


def pool_metrics(metrics: Sequence[Metric]) -> Metric:
    """One metric of several worlds' rows."""
    tops, bottoms = zip(*((one.numerator, one.denominator) for one in metrics), strict=True)
    return Metric(np.concatenate(tops), np.concatenate(bottoms), share=metrics[0].share)


class HalfLife(NamedTuple):
    """Later edits after which half of what was said is still said.

    Attributes:
        edits: the most likely number; infinite where nothing was lost.
        low, high: of the 95% interval by likelihood, requests taken as independent.
        requests: how many it rests on.
    """

    edits: float
    low: float
    high: float
    requests: int


def half_life(worlds: Sequence[WorldAnswers]) -> HalfLife:
    """How fast latest requests are lost with the edits behind them: a probability of 2^(-age/h) to be kept.

    Of requests that were answered at once, and which the agent keeps.
    """
    age, kept = zip(*map(ages_of, worlds), strict=True)
    return fit_half_life(np.concatenate(age), np.concatenate(kept))


def ages_of(one: WorldAnswers) -> tuple[np.ndarray, np.ndarray]:
    """Edits behind each latest request, and whether it is still answered at the end."""
    size = len(one.stream.facts)
    latest = one.stream.latest(size)
    facts, objects = one.stream.facts[latest], one.stream.objects[latest]
    counts = one.model.says[latest] & (one.agent.answers[-1][facts] == objects)
    return (size - 1 - latest)[counts], (one.model.answers[-1][facts] == objects)[counts]


def fit_half_life(age: np.ndarray, kept: np.ndarray) -> HalfLife:
    """The most likely half-life of int[n] ages and bool[n], and its interval, on a grid from 1 to 10^7."""
    there = age > 0
    if not there.any():
        return HalfLife(np.nan, np.nan, np.nan, 0)
    log_stays = -np.log(2) * age[there] / _LIFE[:, None]
    log_goes = np.log(-np.expm1(log_stays))
    likely = np.where(kept[there], log_stays, log_goes).sum(axis=1)
    inside = _LIFE[likely >= likely.max() - _DROP]
    if kept[there].all():
        return HalfLife(np.inf, float(inside[0]), np.inf, int(there.sum()))
    best = float(_LIFE[likely.argmax()])
    return HalfLife(best, float(inside[0]), float(inside[-1]), int(there.sum()))


def bits_per_number(worlds: Sequence[WorldAnswers]) -> float:
    """Bits of the latest requests that are kept, for each number that is stored.

    A request says which of the objects of its relation it is.
    """
    bits = numbers = 0.0
    for one in worlds:
        said = StatementIndex(one.world.graph, one.world.sentences).objects_by_relation
        latest = one.stream.latest(len(one.stream.facts))
        facts, objects = one.stream.facts[latest], one.stream.objects[latest]
        is_kept = one.model.answers[-1][facts] == objects
        bits += sum(np.log2(len(said[r])) for r in one.world.graph.relation[facts[is_kept]].tolist())
        numbers += float(one.model.numbers[-1])
    return bits / numbers if numbers else float("nan")


def record_study(options: Settings) -> Path:
    """What is kept after each mark; half-lives; what was stored, and what it took."""
    kept_rows: list[list[Cell]] = []
    life_rows: list[list[Cell]] = []
    figures: dict[str, Any] = {}
    unit: float | None = None
    for name in reversed(options.editors):
        worlds = [read_world_answers(options, run, name) for run in options.world_runs]
        unit = unit or float(worlds[0].model.flops)
        found: dict[str, Any] = {}
        rows: list[list[Cell]] = []
        for run, one in zip(options.world_runs, worlds, strict=True):
            estimates = estimate_at([one], options.edits, len(options.marks) - 1)
            of_world = {metric: estimate_as_list(x) for metric, x in estimates.items()}
            figures[f"{name}, {run.name}"] = {str(options.edits): of_world}
        for number, mark in enumerate(options.marks):
            estimates = estimate_at(worlds, mark, number)
            rows.append([name, mark, *(estimates.get(metric) for metric in COLUMNS)])
            found[str(mark)] = {metric: estimate_as_list(x) for metric, x in estimates.items()}
        kept_rows = rows + kept_rows
        life, each = half_life(worlds), [half_life([one]).edits for one in worlds]
        lengths = [
            float(np.mean([one.model.lengths[k] for one in worlds])) for k in range(len(options.marks))
        ]
        figures[name] = found | {
            "half-life": [*map(number_or_none, life[:3]), life.requests, *map(number_or_none, each)],
            "bits for each number": number_or_none(bits_per_number(worlds)),
            "length after each mark": lengths,
            "seconds": float(np.median([one.model.seconds for one in worlds])),
            "flops": float(worlds[0].model.flops),
        }
        row: list[Cell] = [name, f"{life.edits:.0f}", f"{life.low:.0f} to {life.high:.0f}"]
        row += [f"{min(each):.0f} to {max(each):.0f}", life.requests, bits_per_number(worlds), *lengths]
        life_rows.insert(0, [*row, float(worlds[0].model.flops) / unit, figures[name]["seconds"]])
    heads = ["editor", "half-life", "interval", "range of worlds", "requests", "bits a number"]
    heads += [f"length after {mark}" for mark in options.marks] + ["FLOPs, x the last", "seconds"]
    tables = [
        Table(
            "kept",
            "Edits on top of each other, all contradicting",
            ["editor", "after edits", *COLUMNS],
            kept_rows,
        ),
        Table("half-lives", "Half-lives in edits, and what is stored", heads, life_rows),
    ]
    pages = {"many-edits.md": stages.show_tables(tables)}
    title = "many-edits" + f"-{options.scale}" * (options.scale != "demo")
    return options.record(options.world_runs[0], pages, ("editor", "mark"), title, found=figures)


def number_or_none(x: float) -> float | None:
    """A finite number as JSON has it."""
    return float(x) if np.isfinite(x) else None


if __name__ == "__main__":
    launch_module()
