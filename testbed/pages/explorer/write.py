"""Writing the explorer: one page, the rows of each evaluation, names, and what stands behind the rows."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from corpus.compiled import map_in_order
from corpus.files import staged_folder
from testbed.pages.explorer.packing import count_parts, write_script
from testbed.pages.explorer.sets import CaseSet, FindNames, group_editors, number_cases, pack_cases, split_set
from testbed.pages.explorer.view import Column, View
from testbed.pages.palette import assign_slots, palette_css
from testbed.pages.templates import load_template
from testbed.protocol import ABSENT
from testbed.run.world import World
from testbed.scores.summary import ScoredEditor

CASES_IN_A_FILE = 100
Packed = tuple[dict[str, Any], dict[str, np.ndarray]]
"""A header and arrays; see `pack_cases`."""
SCRIPTS = ("data.js", "rows.js", "case.js", "page.js")


class ExploredEvaluation(NamedTuple):
    """One evaluation, as the explorer needs it.

    Attributes:
        key: in addresses and names of files.
        views: of each editor.
        commands: by editor, what follows `python -m testbed.ask QUESTION --edit FACT`.
    """

    key: str
    title: str
    editors: Sequence[ScoredEditor]
    views: Sequence[View]
    commands: Mapping[str, str]


class Names:
    """Names of some worlds in one list, each that is needed once; the first is empty and stands for none.

    Args:
        worlds: of each run.
    """

    def __init__(self, worlds: Sequence[World]) -> None:
        self._lists: list[list[Sequence[str]]] = [
            [world.graph.entities for world in worlds],
            [world.graph.relations for world in worlds],
        ]
        self._numbers: dict[str, int] = {"": 0}
        self._found: list[dict[int, np.ndarray]] = [{}, {}]

    def of_entities(self, run: np.ndarray, entity: np.ndarray) -> np.ndarray:
        """uint32[...]: the numbers of names, 0 for ABSENT."""
        return self._find(0, run, entity)

    def of_relations(self, run: np.ndarray, relation: np.ndarray) -> np.ndarray:
        """uint32[...]: the same for relations."""
        return self._find(1, run, relation)

    def as_list(self) -> list[str]:
        """All names that were needed, by number."""
        return list(self._numbers)

    def _find(self, kind: int, run: np.ndarray, which: np.ndarray) -> np.ndarray:
        numbers = np.zeros(which.shape, np.uint32)
        for r in np.unique(run).tolist():
            names = self._lists[kind][r]
            known = self._found[kind].setdefault(r, np.zeros(len(names), np.uint32))
            here = (run == r) & (which != ABSENT)
            for i in np.unique(which[here]).tolist():
                if not known[i]:
                    known[i] = self._numbers.setdefault(names[i], len(self._numbers))
            numbers[here] = known[which[here]]
        return numbers


def write_explorer(
    evaluations: Sequence[ExploredEvaluation], worlds: Sequence[World], title: str, folder: Path
) -> Path:
    """Write the folder `explorer` of a report; returns its page.

    Args:
        worlds: of every run, in their order.
        title: what the page is about.
    """
    folder = folder / "explorer"
    with staged_folder(folder) as aside:
        names = Names(worlds)
        slots = assign_slots(editor.name for evaluation in evaluations for editor in evaluation.editors)
        for evaluation in evaluations:
            _write_evaluation(evaluation, names, slots, aside)
        write_script(aside / "names.js", {"names": names.as_list()}, {})
        about = [{"key": e.key, "title": e.title} for e in evaluations]
        html = _render_page({"title": title, "evaluations": about})
        (aside / "index.html").write_text(html, encoding="utf-8")
    return folder / "index.html"


def _write_evaluation(
    evaluation: ExploredEvaluation, names: Names, slots: Mapping[str, int], folder: Path
) -> None:
    key, editors = evaluation.key, evaluation.editors
    sets = group_editors(editors)
    views = evaluation.views
    order = [number for one in sets for number in one.editors]
    results = [editors[number].edits.results for number in order]
    numbers = number_cases(editors)

    def join_names(find: FindNames, column: str) -> np.ndarray:
        return np.concatenate([find(r.cases["run"], r.cases[column]) for r in results])

    arrays = {
        "case": np.concatenate([numbers[number] for number in order]),
        "subject": join_names(names.of_entities, "subject"),
        "relation": join_names(names.of_relations, "relation"),
        "new": join_names(names.of_entities, "object"),
        "old": join_names(names.of_entities, "truth"),
    }
    columns = []
    for place, column in enumerate(views[0].columns):
        values = np.concatenate([views[number].columns[place].values for number in order])
        words, packed = _pack_column(values)
        arrays[f"column-{place}"] = packed
        columns.append(_describe_column(column, words))
    roles = sorted({str(x) for r in results for c in (r.choices, r.claims) for x in np.unique(c.role)})
    for number, one in enumerate(sets):
        _write_cases(f"{key}-{number}", one, roles, names, folder)
    header = {
        "editors": [editor.name for editor in editors],
        "slots": [slots[editor.name] for editor in editors],
        "commands": [evaluation.commands.get(editor.name, "") for editor in editors],
        "times": list(editors[0].edits.results.times),
        "sets": [{"editors": list(one.editors), "cases": len(one.results[0])} for one in sets],
        "casesInAFile": CASES_IN_A_FILE,
        "columns": columns,
        "presets": [preset._asdict() for preset in views[0].presets],
        "roles": [views[0].roles.get(role, role) for role in roles],
    }
    write_script(folder / f"{key}.js", header, arrays)


def _write_cases(stem: str, one: CaseSet, roles: Sequence[str], names: Names, folder: Path) -> None:
    def write_part(numbered: tuple[int, Packed]) -> None:
        number, packed = numbered
        write_script(folder / f"{stem}-{number}.js", *packed)

    parts = (
        pack_cases(part, roles, names.of_entities, names.of_relations)
        for part in split_set(one, CASES_IN_A_FILE)
    )
    # Names are numbered in the order of cases; compression goes on beside it.
    for _ in map_in_order(write_part, enumerate(parts), os.cpu_count() or 1):
        pass


def _pack_column(values: np.ndarray) -> tuple[list[str] | None, np.ndarray]:
    """Numbers in parts of 1; of words the list of them, and the place of each in it."""
    if values.dtype.kind not in "OSU":
        return None, count_parts(values)
    words, places = np.unique(values.astype(str), return_inverse=True)
    return words.tolist(), places.reshape(-1).astype(np.uint16)


def _describe_column(column: Column, words: list[str] | None) -> dict[str, Any]:
    about: dict[str, Any] = {"key": column.key, "title": column.title, "says": column.says}
    return about | ({"edges": list(column.edges)} if words is None else {"words": words})


def _render_page(about: Mapping[str, Any]) -> str:
    # Inside a script nothing is escaped, and "<" could end it.
    meta = json.dumps(about).replace("<", "\\u003c")
    template = load_template(Path(__file__).with_name("explorer.html.jinja"), palette=palette_css())
    return template.render(title=about["title"], meta=meta, scripts=SCRIPTS)
