"""What the agent's prior and the weight of a request make of the paper's columns.

Command:
    python -m experiments.readings

Requests by the paper's sampler in worlds of the demo's kind: each as evidence of weight n', of weight
n = 1000, and as n' to an agent whose prior has mass 1 for each object in place of 1 in all. What edits are
scored by differs, and not the editor. Takes two minutes of one core a world.
"""

from collections.abc import Iterator

from experiments.command import launch_module
from experiments.study import Changes, Findings, Study, WorldOptions
from testbed.evaluations.hase.published import SUBSETS, published_tables
from testbed.scores.tables import Table

READINGS: dict[str, Changes] = {
    "n'": {},
    "n = 1000": {"paper-agent.edit-weight": 1000.0},
    "n', prior of ones": {"paper-agent.prior": "ones"},
}
"""Options of the agent."""


def make_tables(findings: Findings) -> Iterator[Table]:
    """The paper's columns under each reading."""
    for i, reading in enumerate(READINGS):
        table = published_tables(findings.editors(reading=reading))[0]
        yield table._replace(key=f"{table.key}-{i}", title=f"{table.title}: {reading}")


STUDY = Study(
    options=WorldOptions(worlds=3, editors=("lora-down",), edits=200),
    cells=lambda options: [
        {"seed": seed, "reading": reading} for seed in range(options.worlds) for reading in READINGS
    ],
    run="demo-worlds-{seed}",
    pool=("seed",),
    edit=lambda cell: {"hase.sampler": "published", **READINGS[cell["reading"]]},
    subsets=SUBSETS,
    tables=make_tables,
)

if __name__ == "__main__":
    launch_module()
