"""How far does an edit reach, and does the support law hold where answers are as common for every support?

Commands:
    python -m experiments.ripples --kinds unsaid
    python -m experiments.ripples --kinds unsaid --worlds 2 --every
    python -m experiments.ripples --kinds doubt --cases 48 --editors lora-down embeddings keyed keyed-counting

Worlds of chains (`corpus.worlds.chain`): a teacher, what pupils play, with whom they tour, where they sleep.
In `unsaid` worlds nobody states of some pupils what they play, nor anything below, and the agent infers
rows from everybody else. In `doubt` worlds an inner fact of anybody is never stated, or one to three times,
and the agent is told the rows. A teacher is edited, of two subjects of whom nothing below is stated for one
whose next fact is; the agent's answers one, two and three steps below then move. Each edit is judged under
three readings: evidence, a correction, a change of the world.

The teachers of `unsaid` worlds have 1, 3, 10 or 30 pupils, and for each of these numbers the instrument is as
rare, or as common: support and frequency are crossed by construction.

Ten worlds of each kind, of equal sizes; the code was written on the world of seed 500. Settings are the
editors' own for small models, but `rome` and `memit` read the subject's token, and `count-based` and
`keyed-counting` may conclude what the model has never read of the subject, from one peer on: else they
conclude next to nothing here. Nothing is tuned.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from corpus.config import ChainWorld, ExactConfig, WorldConfig
from experiments.command import launch_module
from experiments.measures.ripple_cases import Ripples
from experiments.measures.ripple_tables import (
    CELL_HOPS,
    STATED,
    effect_table,
    estimate_cells,
    estimate_effects,
    estimate_hops,
    hop_table,
    support_table,
)
from experiments.study import Changes, Findings, Study, Values, WorldOptions
from testbed.evaluations.catalogue import prefix_of
from testbed.scores.tables import Table

EVALUATION = "experiments.measures.ripple_cases:Ripples"
KINDS: dict[str, tuple[ChainWorld, ExactConfig]] = {
    "unsaid": (ChainWorld(), ExactConfig(strata=(0.0, 0.0, 1.0))),
    "doubt": (
        ChainWorld(neighbours=14, unsaid=0),
        ExactConfig(rows="given", inner=(0.4, 0.4, 0.2), strata=(0.4, 0.4, 0.2)),
    ),
}
"""Kind of worlds -> who is in them, and what is said."""
FIRST_SEED = {"unsaid": 501, "doubt": 601}
LAW = ("lora-down", "embeddings", "full-early", "rome", "in-context", "count-based", "memit", "self-bayes")
"""The editors of the support law."""
EDITORS = (
    *LAW, "mend", "context-distillation", "ft-constrained", "full", "full-late", "grace", "lora-all",
    "self-bayes-told", "random-target",
)  # fmt: skip
READINGS = {"evidence": "evidence", "correction": "a correction", "do": "a change of the world"}


@dataclass(frozen=True)
class Options(WorldOptions):
    """Which worlds and editors, and how many edits: a multiple of 24 has as many for every cell."""

    kinds: tuple[Literal["unsaid", "doubt"], ...] = ("unsaid", "doubt")
    """Kinds of worlds."""
    every: bool = False
    """Edit by every editor, not only by those that are named."""
    steps: int = 200
    """Training steps."""

    @property
    def cells(self) -> list[Values]:
        """World by world of all kinds in turn."""
        return [
            {"world_kind": kind, "seed": FIRST_SEED[kind] + place}
            for place in range(self.worlds)
            for kind in self.kinds
        ]


def corpus_of(cell: Values) -> Changes:
    """Chains, of one kind."""
    chain, exact = KINDS[cell["world_kind"]]
    return {"world": WorldConfig(source="chain", chain=chain), "kind": "exact", "exact": exact}


def edits_of(cell: Values) -> Changes:
    """Settings of some editors differ from the preset's; see above."""
    counting = {"count-based", "keyed-counting"} & {cell["editor"]}
    tokens = {f"{name}.token": "subject" for name in {"rome", "memit"} & {cell["editor"]}}
    unread = {f"{name}.unread": True for name in counting} | {f"{name}.fewest": 1 for name in counting}
    asked = {"evaluation": EVALUATION, "evaluations": {prefix_of(EVALUATION): Ripples()}, "agent": "exact"}
    return asked | tokens | unread


def make_tables(findings: Findings) -> Iterator[Table]:
    """Ripples by hops; of few editors in `unsaid` worlds also the support law with frequency crossed."""
    for kind in findings.options.kinds:
        editors = findings.results(world_kind=kind)
        for reading, rows in estimate_hops(editors).items():
            yield hop_table(f"{kind}-{reading}", f"{kind}: read as {READINGS[reading]}", rows)
        if kind == "unsaid" and not findings.options.every:
            by_editor = estimate_cells(editors)
            titles = {name: f"nothing stated below, read as {what}" for name, what in READINGS.items()}
            titles[f"do{STATED}"] = "stated below, read as a change of the world"
            for hop in CELL_HOPS:
                for reading, title in titles.items():
                    yield support_table(by_editor, f"{reading}, {hop}", f"{title}, hop {hop}")
            yield effect_table(estimate_effects(editors))


STUDY = Study(
    options=Options(worlds=10, editors=LAW, edits=24),
    run="ripples-{world_kind}-{seed}",
    preset=("tiny", "laptop", "laptop"),
    corpus=corpus_of,
    train=lambda cell: {"train.steps": cell["steps"]},
    edit=edits_of,
    editors=lambda cell: EDITORS if cell["every"] else cell["editors"],
    tables=make_tables,
    title=lambda options: "ripples-every" if options.every else "ripples",
)

if __name__ == "__main__":
    launch_module()
