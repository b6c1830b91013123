"""What each stage costs as a world grows from 1,000 to 1,000,000 facts, and a report as its rows do.

Commands:
    python -m experiments.growth
    python -m experiments.growth --minutes 9        (leaves after about so long; the same command goes on)

Every measurement is a process of its own, so that its peak memory is its own, and is kept as soon as it is
made. When all are there they become a table with exponents, and experiments/records/<date>-growth.

corpus    the built-in world in the paper's proportions, and its corpus, from nothing to files
fit       loading world and corpus, and fitting the paper's agent
gold      drawing a thousand edit cases, with the agent's answers before and after each
train     two layers of width 128, and a tokenizer that grows with the names, up to 32,000; 20 steps only
edit      edits by `lora-down` of the model that these steps left, which knows little
score     asking that model all questions of edited cases
report    all tables and pages about so many rows of cases, which repeat those of the smallest world's edits

Seconds are those of the work named; peaks those of the whole process, with all libraries.
Expected, on 2 cores: no stage grows faster than facts do; a million facts are built, fitted, and 1,000 cases
drawn and judged in under 5 minutes and 8 GiB; a report over 100,000 rows takes under 60 seconds.
"""

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus.files import CHECKSUMS, list_sealed, read_json, seal_folder, write_json
from experiments.benchmarks.harness import measure_process, record_stage, time_once
from experiments.command import launch_module
from experiments.measures.scaled import scale_world
from experiments.stages import Clock, finish_stages
from testbed.commands.corpus import build_corpus
from testbed.commands.edit import edit
from testbed.commands.report import report
from testbed.commands.train import train
from testbed.console import print_table, say
from testbed.engine.questions import Questions
from testbed.engine.records import TABLES, table_file
from testbed.engine.trace import CONFIG, name_edits
from testbed.evaluations.hase import Hase
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.agents import paper_agent
from testbed.run.model import load_model
from testbed.run.runs import ORIGIN, Run, folder_digest, read_metrics
from testbed.run.world import load_world, read_world, save_world
from testbed.settings import CaseConfig, ReportSettings

Stage = Literal["corpus", "fit", "gold", "train", "edit", "score", "report"]
STAGES: tuple[Stage, ...] = get_args(Stage)
PER: dict[Stage, str] = {"gold": "a case", "train": "a token", "edit": "an edit", "score": "a case"}
"""What the seconds of a stage are of, where that is not the whole of it."""
EDITED, SCORED, STEPS = 24, 8, 20
WORLDS = 100
"""So many times as many people are in the rows of a report as in its world, if there are as many rows."""


@dataclass(frozen=True)
class Settings:
    """Which sizes, and where files go."""

    sizes: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)
    """Facts, about."""
    rows: tuple[int, ...] = (1_000, 10_000, 100_000)
    """Rows of cases of reports."""
    cases: int = 1000
    """Edit cases that are drawn and judged."""
    runs: Path = Path("runs")
    """Folder of all runs."""
    minutes: float | None = None
    """How long to work; the same command goes on."""
    only: Stage | None = None
    """Measure one stage in this process; what the processes of this command are started with."""
    size: int = 1_000
    """Facts, or rows, of that stage."""

    def __post_init__(self) -> None:
        if min(*self.sizes, *self.rows, self.cases, self.size) < 1:
            raise ValueError("sizes, rows and cases must be positive")
        if min(len(self.sizes), len(self.rows)) < 2:
            raise ValueError("how cost grows needs two sizes, and two numbers of rows, at least")

    def run(self, size: int) -> Run:
        """The run of a size."""
        return Run(self.runs / "growth", f"facts-{size}")

    def file(self, stage: Stage, size: int) -> Path:
        """Where a measurement is kept."""
        return self.runs / "growth" / "measured" / f"{stage}-{size}.json"


def run_study(settings: Settings) -> None:
    """Measure what is missing, then write the record; or one stage here and now."""
    if settings.only:
        seconds = MEASURES[settings.only](settings)
        write_json(settings.file(settings.only, settings.size), {"seconds": seconds})
        return

    if finish_stages(_study_stages(settings), Clock(settings.minutes)):
        growth = collect_growth(settings)
        _show_growth(growth)
        for stage, figures in growth.items():
            folder = record_stage("growth", stage, figures, cases=settings.cases)
        say(f"record: {folder}")


def _study_stages(settings: Settings) -> Iterator[tuple[str, Callable[[], object]]]:
    for stage in STAGES:
        for size in sorted(settings.rows if stage == "report" else settings.sizes):
            yield f"{stage}, {size:,}", partial(_measure_in_process, settings, stage, size)


def _measure_in_process(settings: Settings, stage: Stage, size: int) -> None:
    path = settings.file(stage, size)
    if path.exists() and "peak_gib" in read_json(path):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    options = ["--only", stage, "--size", size, "--cases", settings.cases, "--runs", settings.runs]
    options += ["--sizes", *settings.sizes, "--rows", *settings.rows]
    process = measure_process(sys.executable, "-m", "experiments.growth", *map(str, options))
    write_json(path, read_json(path) | {"peak_gib": process["peak_gib"]})


def _run_options(settings: Settings) -> dict[str, Any]:
    run = settings.run(settings.size)
    return {"runs": run.root, "run": run.name}


def measure_corpus(settings: Settings) -> float:
    """A world with as many subjects and objects for each fact as the paper's has."""
    corpus_settings = replace(CORPUS["paper-dense"], **_run_options(settings))
    corpus_settings = replace(corpus_settings, world=scale_world(corpus_settings.world, settings.size))
    shutil.rmtree(settings.run(settings.size).folder, ignore_errors=True)
    return time_once(lambda: build_corpus(corpus_settings))


def measure_fit(settings: Settings) -> float:
    """Load world and corpus, and fit."""
    return time_once(lambda: paper_agent(load_world(settings.run(settings.size))))


def measure_gold(settings: Settings) -> float:
    """Draw cases, and let the agent answer."""
    world = load_world(settings.run(settings.size))
    agent, count = paper_agent(world), settings.cases
    return time_once(lambda: list(Hase().make_cases(world, agent, count, 0.95, 0))) / count


def measure_train(settings: Settings) -> float:
    """Some steps of training; the speed of the later half, when everything is compiled."""
    recipe = TRAIN["laptop"]
    # The more names, the more tokens some of them have: documents of 100,000 facts do not fit into 160.
    steps = replace(recipe.train, steps=STEPS, row_length=320, rows=recipe.train.rows // 2)
    steps = replace(steps, evaluate_every=STEPS // 2, checkpoint_every=STEPS)
    train(replace(recipe, train=steps, **_run_options(settings)))
    return 1 / read_metrics(settings.run(settings.size))[-1]["tokens_per_second"]


def measure_edit(settings: Settings) -> float:
    """Edits by the command; seconds as it recorded them, which leave compilation out."""
    edit(replace(EDIT["laptop"], cases=CaseConfig(count=EDITED), **_run_options(settings)))
    (folder,) = (settings.run(settings.size).edits / "hase").iterdir()
    return float(np.median(pq.read_table(folder / "cases.parquet")["seconds"].to_numpy()))


def measure_score(settings: Settings) -> float:
    """All questions of some cases, the second time they are asked."""
    run = settings.run(settings.size)
    world = load_world(run)
    cases = list(Hase().make_cases(world, paper_agent(world), SCORED, 0.95, 0))
    questions, which = Questions(world, load_model(run, world)[0], cases), np.arange(SCORED)[:, None]
    questions.answers_after({}, which)
    return time_once(lambda: questions.answers_after({}, which)) / SCORED


def measure_report(settings: Settings) -> float:
    """A report with its explorer about so many rows of cases, which have other subjects and objects."""
    source = settings.run(min(settings.sizes))
    run = Run(source.root, f"rows-{settings.size}")
    shutil.rmtree(run.folder, ignore_errors=True)
    shutil.copytree(source.folder, run.folder)
    (folder,) = (run.edits / "hase").iterdir()
    times = -(-settings.size // EDITED)
    people = _copy_people(run, folder, min(times, WORLDS))
    for name in TABLES:
        path, copies = table_file(folder, name), []
        rows = pq.read_table(path)
        for k in range(times):
            copy = rows
            for column in {"case", "subject", "object"} & {*rows.column_names}:
                if name != "cases" and column != "case":
                    continue
                at = rows.column_names.index(column)
                step = k * EDITED if column == "case" else k % WORLDS * people
                moved = pc.add(rows[column], pa.scalar(step, rows.schema.field(at).type))
                copy = copy.set_column(at, rows.schema.field(at), moved)
            copies.append(copy)
        pq.write_table(pa.concat_tables(copies).combine_chunks(), path)
    seal_folder(folder, list_sealed(folder))
    folder.rename(folder.with_name(name_edits(read_json(folder / CONFIG))))
    seconds = time_once(lambda: report(ReportSettings(run=run.name, runs=run.root)))
    shutil.rmtree(run.folder)
    return seconds


def _copy_people(run: Run, edits: Path, times: int) -> int:
    """Everybody in the run's world so many times, under other names; returns how many they were.

    The hashes by which world, corpus and edits know each other follow.
    """
    graph, model = read_world(run)
    people = len(graph.entities)
    names = tuple(f"{name} {k}".removesuffix(" 0") for k in range(times) for name in graph.entities)
    group, frequency, valence = (np.tile(c, times) for c in (graph.group, graph.frequency, graph.valence))
    copied = replace(graph, entities=names, group=group, frequency=frequency, valence=valence)
    save_world(copied, model, run.world)
    seal_folder(run.world, read_json(run.world / CHECKSUMS))
    write_json(run.corpus / ORIGIN, read_json(run.corpus / ORIGIN) | {"world": folder_digest(run.world)})
    seal_folder(run.corpus, read_json(run.corpus / CHECKSUMS))
    config = read_json(edits / CONFIG)
    config["inputs"] |= {"world": folder_digest(run.world), "corpus": folder_digest(run.corpus)}
    write_json(edits / CONFIG, config)
    return people


MEASURES: dict[Stage, Callable[[Settings], float]] = {
    "corpus": measure_corpus,
    "fit": measure_fit,
    "gold": measure_gold,
    "train": measure_train,
    "edit": measure_edit,
    "score": measure_score,
    "report": measure_report,
}


def fit_exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The b of the power law cost = a * size ** b, by least squares of logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def collect_growth(settings: Settings) -> dict[str, dict[str, Any]]:
    """Sizes, seconds and peaks in GiB of every stage, and how both grow: over all, and in the last step."""
    growth: dict[str, dict[str, Any]] = {}
    for stage in STAGES:
        sizes = sorted(settings.rows if stage == "report" else settings.sizes)
        lines = [read_json(settings.file(stage, size)) for size in sizes]
        costs = {key: [line[key] for line in lines] for key in ("seconds", "peak_gib")}
        exponents = {
            key: {"all": fit_exponent(sizes, cost), "last step": fit_exponent(sizes[-2:], cost[-2:])}
            for key, cost in costs.items()
        }
        growth[stage] = {"per": PER.get(stage, ""), "sizes": sizes, **costs, "exponents": exponents}
    return growth


def _show_growth(growth: dict[str, dict[str, Any]]) -> None:
    most = max(len(one["sizes"]) for one in growth.values())
    rows = []
    for stage, one in growth.items():
        cells = [
            f"{size:,}: {seconds:.3g} s, {peak:.2f} GiB"
            for size, seconds, peak in zip(one["sizes"], one["seconds"], one["peak_gib"], strict=True)
        ]
        cells += [""] * (most - len(cells))
        grows = ", ".join(f"{e:.2f}" for e in one["exponents"]["seconds"].values())
        rows.append((f"{stage} {one['per']}".strip(), *cells, grows))
    heads = ("", *(f"size {i}" for i in range(1, most + 1)), "exponent: all, last step")
    print_table("seconds by size, and peak memory of the process", heads, rows)


if __name__ == "__main__":
    launch_module()
