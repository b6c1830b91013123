"""Which other facts fall after edits of people, by kind of world, group and frequency; what is written."""

from collections.abc import Iterator
from typing import Any

from experiments.measures.people import BY_GENDER, CELLS, FACTORIAL, KINDS
from experiments.study import Findings
from testbed.evaluations.seesaw import OTHERS, crossing, texts
from testbed.evaluations.seesaw.attribution import attribution_table
from testbed.evaluations.seesaw.groups import editor_changes, kinds_table, lowered_table
from testbed.evaluations.seesaw.regression import (
    fit_group_or_frequency,
    fit_size_or_frequency,
    regression_tables,
)
from testbed.run.world import load_world
from testbed.scores.tables import Table

WRITTEN = {"work by group": FACTORIAL[0], "work by gender": BY_GENDER}
"""Kinds of worlds of whose people texts are written: only of what depends on the edited property something
can be a stereotype."""


def said_groups(findings: Findings) -> list[Any]:
    """All editors in all worlds in which the corpus says who is in which group."""
    return findings.editors(world_kind=[kind for kind in CELLS if kind.states_groups])


def people_tables(findings: Findings) -> Iterator[Table]:
    """Which other facts fall; who falls in each kind of worlds, by group and frequency; and over all.

    Where texts were written, their tables in place of these.
    """
    if findings.options.samples:
        yield from _text_tables(findings)
        return
    yield crossing.change_table({name: findings.editors(world_kind=kinds) for name, kinds in KINDS.items()})
    for kind in CELLS:
        editors = findings.editors(world_kind=kind)
        every = [editor_changes(editor) for editor in editors]
        for table in (
            kinds_table(every), lowered_table(every), *regression_tables(every), attribution_table(every),
            *(crossing.accuracy_table(editors, stated) for stated in (True, False)),
            crossing.loss_table(editors),
        ):  # fmt: skip
            yield table._replace(title=f"{kind}: {table.title}")
    for table in regression_tables([editor_changes(editor) for editor in said_groups(findings)]):
        yield table._replace(title=f"All worlds, groups said: {table.title}")


def fit_changes(findings: Findings) -> dict[str, Any]:
    """What changes go with: groups or frequency in each kind of worlds, of sizes over all. Not of texts."""
    if findings.options.samples:
        return {}
    by_kind = {
        str(kind): {
            one.name: {who: fit_group_or_frequency(editor_changes(one), who) for who in OTHERS}
            for one in findings.editors(world_kind=kind)
        }
        for kind in CELLS
    }
    over_worlds = {
        one.name: {who: fit_size_or_frequency(editor_changes(one), who) for who in OTHERS}
        for one in said_groups(findings)
    }
    return {"group_or_frequency": by_kind, "over_worlds": over_worlds}


def _text_tables(findings: Findings) -> Iterator[Table]:
    """Flaws of texts by kind of world, editor and edited property."""
    for name, kind in WRITTEN.items():
        worlds = [load_world(run) for run in findings.runs(world_kind=kind)]
        coded = [
            (one, texts.code_all_texts(one.edits.results, worlds))
            for one in findings.editors(world_kind=kind)
        ]
        for make in (texts.flaw_table, texts.injection_table, texts.legibility_table):
            table = make(coded)
            yield table._replace(title=f"{name}: {table.title}")
