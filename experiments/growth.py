"""What each stage costs as a world grows from 1,000 to 1,000,000 facts, and a report as its rows do.

Command:
    python -m experiments.growth

Every measurement is a process of its own, so that its peak memory is its own, and is kept in
<runs>/growth/measured/ as soon as it is made: the same command goes on from there, and `--minutes` says how
long it may take before that. When all are there it writes experiments/records/<date>-growth/record.json.

corpus    the built-in world of the paper's proportions, and its corpus, from nothing to files
fit       loading world and corpus, and fitting the paper's agent
gold      drawing edit cases, and the agent's answers before and after each
train     a token of training: two layers of width 128, which the vocabulary makes larger; 20 steps only
edit      an edit by `lora-down` of the model that these steps left, which knows little
score     asking that model all questions of one edited case
report    all tables and pages about so many rows of cases, which repeat those of the smallest world's edits

Expected, on 2 cores: no stage grows faster than facts do; a million facts are built, fitted, and 1,000 cases
drawn and judged in under 5 minutes and 8 GiB; a report over 100,000 rows takes under 60 seconds.
"""

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tyro

from corpus.files import read_json, write_json
from experiments.measure import keep
from experiments.stages import Clock, Stage, done
from lm.config import TrainConfig
from testbed.console import say, table
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.runs import Run, read_metrics

What = Literal["corpus", "fit", "gold", "train", "edit", "score", "report"]
STAGES: dict[What, str] = {
    "corpus": "a world",
    "fit": "a world",
    "gold": "a case",
    "train": "a token",
    "edit": "an edit",
    "score": "a case",
    "report": "a report",
}
"""Stage -> what its seconds are of."""
PAPER_FACTS, EDITED, SCORED, STEPS = 100_000, 24, 8, 20


@dataclass(frozen=True)
class GrowthSettings:
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
    only: What | None = None
    """Measure one stage here and now; what the processes of this command are started with."""
    size: int = 1_000
    """Of that stage."""

    @property
    def root(self) -> Path:
        """Where its runs lie."""
        return self.runs / "growth"

    def run(self, facts: int) -> Run:
        """The run of a size."""
        return Run(self.root, f"facts-{facts}")

    def file(self, what: What, size: int) -> Path:
        """Where a measurement is kept."""
        return self.root / "measured" / f"{what}-{size}.json"


def timed_once(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what came of it."""
    began = time.perf_counter()
    found = work()
    return time.perf_counter() - began, found


def place(settings: GrowthSettings) -> dict[str, Any]:
    """Where a run of the size in hand lies."""
    return {"runs": settings.root, "run": settings.run(settings.size).name}


def corpus(settings: GrowthSettings) -> dict[str, float]:
    """A world of as many subjects and objects for each fact as the paper's has."""
    from testbed.corpus import build_corpus

    share, paper = settings.size / PAPER_FACTS, CORPUS["paper"]
    dials = replace(
        paper.world.builtin,
        upstream_objects=max(2, round(share * paper.world.builtin.upstream_objects)),
        downstream_objects=max(2, round(share * paper.world.builtin.downstream_objects)),
    )
    world = replace(paper.world, subjects=round(share * paper.world.subjects), builtin=dials)
    return {"seconds": timed_once(lambda: build_corpus(replace(paper, world=world, **place(settings))))[0]}


def fit(settings: GrowthSettings) -> dict[str, float]:
    """Load world and corpus, and fit."""
    from testbed.run.agents import paper_agent
    from testbed.run.world import load_world

    loading, world = timed_once(lambda: load_world(settings.run(settings.size)))
    fitting, _ = timed_once(lambda: paper_agent(world))
    return {"seconds": loading + fitting, "facts": len(world.graph), "loading": loading, "fitting": fitting}


def gold(settings: GrowthSettings) -> dict[str, float]:
    """Draw cases, and let the agent answer."""
    from testbed.evaluations.hase.evaluation import Hase
    from testbed.run.agents import paper_agent
    from testbed.run.world import load_world

    world = load_world(settings.run(settings.size))
    agent = paper_agent(world)
    seconds, cases = timed_once(lambda: list(Hase().cases(world, agent, settings.cases, 0.95, 0)))
    return {"seconds": seconds / len(cases), "all": seconds}


def train(settings: GrowthSettings) -> dict[str, float]:
    """Some steps of training; the speed of the later half, when everything is compiled."""
    import testbed.train

    recipe = TrainConfig(
        steps=STEPS, rows=24, row_length=160, evaluate_every=STEPS // 2, checkpoint_every=STEPS
    )
    testbed.train.train(replace(TRAIN["laptop"], train=recipe, **place(settings)))
    return {"seconds": 1 / read_metrics(settings.run(settings.size))[-1]["tokens_per_second"]}


def edit(settings: GrowthSettings) -> dict[str, float]:
    """Edits by the command; seconds as it recorded them, compilation apart."""
    import pyarrow.parquet as pq

    import testbed.edit

    options = replace(EDIT["laptop"], **place(settings))
    testbed.edit.edit(replace(options, cases=replace(options.cases, count=EDITED)))
    (folder,) = (settings.run(settings.size).edits / "hase").iterdir()
    return {"seconds": float(np.median(pq.read_table(folder / "cases.parquet")["seconds"].to_numpy()))}


def score(settings: GrowthSettings) -> dict[str, float]:
    """All questions of some cases, the second time they are asked."""
    from testbed.engine.questions import Questions
    from testbed.evaluations.hase.evaluation import Hase
    from testbed.run.agents import paper_agent
    from testbed.run.model import load_model
    from testbed.run.world import load_world

    run = settings.run(settings.size)
    world = load_world(run)
    cases = list(Hase().cases(world, paper_agent(world), SCORED, 0.95, 0))
    questions, which = Questions(world, load_model(run, world)[0], cases), np.arange(SCORED)[:, None]
    questions.after({}, which)
    return {"seconds": timed_once(lambda: questions.after({}, which))[0] / SCORED}


def report(settings: GrowthSettings) -> dict[str, float]:
    """A report about as many rows of cases as `size` says."""
    import shutil

    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    import testbed.report
    from testbed.engine.records import TABLES, seal, table_file
    from testbed.settings import ReportSettings

    run, source = Run(settings.root, f"rows-{settings.size}"), settings.run(min(settings.sizes))
    if not run.folder.exists():
        shutil.copytree(source.folder, run.folder)
    (folder,) = (run.edits / "hase").iterdir()
    (first,) = (source.edits / "hase").iterdir()
    for name in TABLES:
        rows = pq.read_table(table_file(first, name))
        copies = []
        # Copies are other cases, and of other subjects, as far as intervals are concerned.
        for k in range(-(-settings.size // EDITED)):
            copy = rows
            for column in {"case", "cluster"} & {*rows.column_names}:
                at, most = rows.column_names.index(column), pc.max(rows[column]).as_py()
                step = EDITED if column == "case" else most + 1
                moved = pc.add(rows[column], pa.scalar(k * step, pa.int32()))
                copy = copy.set_column(at, rows.schema.field(at), moved)
            copies.append(copy)
        pq.write_table(pa.concat_tables(copies).combine_chunks(), table_file(folder, name))
    seal(folder)
    options = ReportSettings(run=run.name, runs=settings.root)
    seconds, _ = timed_once(lambda: testbed.report.report(options))
    shutil.rmtree(run.folder)
    return {"seconds": seconds}


MEASURES: dict[What, Callable[[GrowthSettings], dict[str, float]]] = {
    "corpus": corpus,
    "fit": fit,
    "gold": gold,
    "train": train,
    "edit": edit,
    "score": score,
    "report": report,
}


def measure(settings: GrowthSettings, what: What) -> None:
    """One stage at one size, in this process."""
    found = MEASURES[what](settings)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 2**30
    write_json(settings.file(what, settings.size), found | {"peak_gib": peak})


def in_a_process(settings: GrowthSettings, what: What, size: int) -> None:
    """One stage at one size, unless it was measured before."""
    if settings.file(what, size).exists():
        return
    options = ["--only", what, "--size", str(size), "--cases", str(settings.cases)]
    options += ["--runs", str(settings.runs), "--sizes", *map(str, settings.sizes)]
    subprocess.run([sys.executable, "-m", "experiments.growth", *options], check=True)


def stages(settings: GrowthSettings) -> Iterator[Stage]:
    """Every measurement, the small ones first."""
    for size in sorted(settings.sizes):
        for what in STAGES:
            if what != "report":
                yield f"{what}, {size:,} facts", partial(in_a_process, settings, what, size)
    for rows in settings.rows:
        yield f"report, {rows:,} rows", partial(in_a_process, settings, "report", rows)


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The b of the power law cost = a * size ** b, by least squares of logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def collected(settings: GrowthSettings) -> dict[str, Any]:
    """Seconds, peaks and exponents of every stage."""
    found: dict[str, Any] = {}
    for what, unit in STAGES.items():
        sizes = sorted(settings.rows if what == "report" else settings.sizes)
        lines = [read_json(settings.file(what, size)) for size in sizes]
        seconds, peaks = ([line[key] for line in lines] for key in ("seconds", "peak_gib"))
        growth = {"all": exponent(sizes, seconds), "last step": exponent(sizes[-2:], seconds[-2:])}
        memory = exponent(sizes, peaks)
        found[what] = {"of": unit, "sizes": sizes, "measured": lines, "exponent": growth, "memory": memory}
    return found


def show(found: dict[str, Any]) -> None:
    """The table."""
    rows = []
    for what, one in found.items():
        cells = [f"{line['seconds']:.3g} s, {line['peak_gib']:.2f}" for line in one["measured"]]
        cells += [""] * (4 - len(cells))
        growth = f"{one['exponent']['all']:.2f}, {one['exponent']['last step']:.2f}"
        rows.append((f"{what} ({one['of']})", *cells[:4], growth))
    table("seconds and GiB by size; exponent over all and in the last step", ("", *"1234", "exponent"), rows)


def main() -> int:
    """Measure what is missing, then write the record."""
    settings = tyro.cli(GrowthSettings, description=__doc__)
    if settings.only:
        measure(settings, settings.only)
        return 0
    if done(stages(settings), Clock(settings.minutes)):
        found = collected(settings)
        show(found)
        say(f"written to {keep('growth', 'all', found, cases=settings.cases)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
