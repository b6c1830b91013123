"""Is money surely made of an edited model? Bets against the order of edits, undoing and conditioning.

Command:
    python -m experiments.bets

In ten of the demo's worlds every editor, as the preset has it, makes the edits of
`experiments.measures.sure_gains`: two requests in both orders, one and then the truth, one that is half
believed and then settled. What is surely won for each unit at stake stands beside whether the edits do
anything at all, and beside the exact agent, who conditions. Takes half an hour of one core where the models
are there.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from corpus.files import read_json, write_json
from experiments.command import launch_module
from experiments.measures.sure_gains import AGENT, COLUMNS, bet_against, estimate_gains
from experiments.study import Findings, Stage, Study, Values, WorldOptions
from testbed.open_run import open_run
from testbed.scores.statistics import Estimate
from testbed.scores.tables import Cell, Table

EDITORS = ("lora-down", "full-early", "embeddings", "rome", "keyed-request", "keyed")


def bets_of(findings: Findings, cell: Values, name: str) -> Path:
    """The file of what is won from an editor in a world."""
    return findings.run_of(cell).folder / f"bets-{findings.options.edits}-{name.replace(' ', '-')}.json"


def betting_stages(findings: Findings) -> Iterator[Stage]:
    """Every world's model, and then the bets against every editor."""

    def bet(cell: Values, name: str) -> None:
        if not (path := bets_of(findings, cell, name)).exists():
            run = open_run(findings.run_of(cell).folder, "exact")
            write_json(path, {"bets": bet_against(run, name, findings.options.edits, cell["seed"])})

    for cell in findings.cells:
        yield from findings.model_stages(cell)
        for name in (AGENT, *findings.options.editors):
            yield f"bets against {name} in {findings.run_of(cell).name}", partial(bet, cell, name)


def gains_of(findings: Findings) -> dict[str, dict[str, Estimate]]:
    """What is won, by editor."""
    return {
        name: estimate_gains([read_json(bets_of(findings, cell, name))["bets"] for cell in findings.cells])
        for name in (AGENT, *findings.options.editors)
    }


def gains_table(findings: Findings) -> Iterator[Table]:
    """A row an editor."""
    rows: list[list[Cell]] = [[name, *gains.values()] for name, gains in gains_of(findings).items()]
    note = (
        "The last three: what is surely won for each unit at stake, a mean over a subject's questions. "
        "± is half of a 95% interval over worlds and subjects."
    )
    yield Table("bets", "Bets against two edits", ["editor", *COLUMNS.values()], rows, note)


STUDY = Study(
    options=WorldOptions(worlds=10, edits=20, editors=EDITORS),
    run="demo-worlds-{seed}",
    before=betting_stages,
    editors=lambda _: (),
    tables=gains_table,
    figures=lambda findings: {"gains": gains_of(findings)},
)

if __name__ == "__main__":
    launch_module()
