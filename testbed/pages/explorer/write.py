"""Writing the explorer: one page, the rows of each evaluation, names, and what stands behind the rows.

Of editors of the same cases what was asked is written once, and what each answered beside it.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from corpus.compiled import map_in_order
from corpus.files import staged_folder
from testbed.engine.results import Results
from testbed.pages.explorer.packing import count_parts, count_parts_of_probability, write_script
from testbed.pages.explorer.view import View
from testbed.pages.palette import assign_slots, palette_css
from testbed.pages.templates import load_template
from testbed.protocol import ABSENT
from testbed.run.world import World
from testbed.scores.gather import case_keys
from testbed.scores.parts import split_cases
from testbed.scores.summary import ScoredEditor

SHOWN = 0.01
"""An option is shown where the agent or a model ever gives it as much, or it is an answer."""
ALIKE = 2e-3
"""By so much may the unedited model's answers differ between editors, which answered in other batches."""

FindNames = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From runs and entities, int[N] each, to numbers of names; ABSENT is name 0, which is empty."""


class CaseSet(NamedTuple):
    """Editors that made the same edits and were asked the same.

    Attributes:
        editors: their numbers.
        results: of each of them.
    """

    editors: Sequence[int]
    results: Sequence[Results]


def group_editors(editors: Sequence[ScoredEditor]) -> list[CaseSet]:
    """Sets of editors whose cases, questions and agent are equal, and the unedited model but for rounding."""
    sets: list[tuple[list[int], list[Results]]] = []
    for number, editor in enumerate(editors):
        results = editor.edits.results
        for numbers, members in sets:
            if _are_of_same_cases(members[0], results):
                numbers.append(number)
                members.append(results)
                break
        else:
            sets.append(([number], [results]))
    return [CaseSet(*one) for one in sets]


def _are_of_same_cases(first: Results, second: Results) -> bool:
    if len(first) != len(second) or first.times != second.times:
        return False
    pairs = [(first.cases[k], second.cases[k]) for k in ("run", "subject", "relation", "object", "position")]
    names = ("case", "role", "subject", "relation", "options", "agent", "agent_answer")
    pairs += [(getattr(first.choices, k), getattr(second.choices, k)) for k in names]
    pairs += [(getattr(first.claims, k), getattr(second.claims, k)) for k in ("case", "role", "agent")]
    pairs += [(getattr(first.passages, k), getattr(second.passages, k)) for k in ("case", "role", "sample")]
    if not all(np.array_equal(a, b) for a, b in pairs):
        return False
    pairs = [(getattr(first, k).lm[:, 0], getattr(second, k).lm[:, 0]) for k in ("choices", "claims")]
    return all(np.abs(a - b).max(initial=0) < ALIKE for a, b in pairs)


def number_cases(editors: Sequence[ScoredEditor]) -> list[np.ndarray]:
    """For each editor uint32[E], equal for the same case: of equal requests the n-th is the n-th's."""
    numbers: dict[tuple[int, ...], int] = {}
    columns = []
    for editor in editors:
        seen: dict[tuple[int, ...], int] = {}
        column = []
        for key in case_keys(editor.edits.results):
            seen[key] = seen.get(key, -1) + 1
            column.append(numbers.setdefault((*key, seen[key]), len(numbers)))
        columns.append(np.array(column, np.uint32))
    return columns


def split_set(one: CaseSet, size: int) -> Iterator[CaseSet]:
    """The set in parts of at most `size` cases, whose questions stand case by case."""
    for parts in zip(*(split_cases(results, size) for results in one.results), strict=True):
        yield CaseSet(one.editors, [part.results for part in parts])


def pack_cases(
    one: CaseSet, roles: Sequence[str], find_names: FindNames, find_relations: FindNames
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The cases of a set: everything that was asked, believed and answered.

    Returns:
        A header with the texts that were written, and arrays: Q questions in the order of cases, with O
        options in all; M claims; E editors.

        questions, claims: uint16[cases], how many each case has.
        role, claim_role: uint16[Q], [M], index into `roles`.
        subject, relation: uint32[Q], names.
        stated: int32[Q].
        options: uint16[Q], how many are shown.
        option: uint32[O], names.
        agent: uint16[T, O]; model_before: uint16[O]; model: uint16[E, O], in parts of 1.
        agent_answer: uint32[T, Q]; answer_before: uint32[Q]; answer: uint32[E, Q], names.
        claim_agent: uint16[T, M]; claim_before: uint16[M, 2]; claim: uint16[E, M, 2], in parts of 1.
    """
    base, place = one.results[0], {role: i for i, role in enumerate(roles)}
    c = base.choices
    world = base.cases["run"][c.case]
    models = np.stack([results.choices.lm[:, 1] for results in one.results])
    answers = np.stack([results.choices.lm_answer[:, 1] for results in one.results])
    given = np.concatenate([c.agent_answer.T, c.lm_answer[:, :1].T, answers])
    tallest = np.maximum(np.maximum(c.agent.max(1), c.lm[:, 0]), models.max(0))
    is_shown = tallest >= SHOWN
    for answer in given:
        is_shown |= c.options == answer[:, None]
    is_shown &= c.options != ABSENT
    times = len(base.times)

    def names(values: np.ndarray) -> np.ndarray:
        return find_names(np.broadcast_to(world, values.shape), values)

    arrays = {
        "questions": np.bincount(c.case, minlength=len(base)).astype(np.uint16),
        "role": np.array([place[role] for role in c.role.tolist()], np.uint16),
        "subject": names(c.subject),
        "relation": find_relations(world, c.relation),
        "stated": c.stated.astype(np.int32),
        "options": is_shown.sum(1).astype(np.uint16),
        "option": find_names(np.broadcast_to(world[:, None], c.options.shape)[is_shown], c.options[is_shown]),
        "agent": count_parts_of_probability(np.moveaxis(c.agent, 1, 0)[:, is_shown]),
        "model_before": count_parts_of_probability(c.lm[:, 0][is_shown]),
        "model": count_parts_of_probability(models[:, is_shown]),
        "agent_answer": names(given[:times]),
        "answer_before": names(given[times]),
        "answer": names(given[times + 1 :]),
    }
    return _collect_texts(one), arrays | _pack_claims(one, place)


def _pack_claims(one: CaseSet, place: dict[str, int]) -> dict[str, np.ndarray]:
    base = one.results[0]
    after = np.stack([results.claims.lm[:, 1] for results in one.results])
    return {
        "claims": np.bincount(base.claims.case, minlength=len(base)).astype(np.uint16),
        "claim_role": np.array([place[role] for role in base.claims.role.tolist()], np.uint16),
        "claim_agent": count_parts_of_probability(base.claims.agent.T),
        "claim_before": count_parts_of_probability(base.claims.lm[:, 0]),
        "claim": count_parts_of_probability(after),
    }


def _collect_texts(one: CaseSet) -> dict[str, Any]:
    """What was written: for each text its case, role, sample, and its sentences before and by every editor.

    A sentence is the number of a text, and of what is wrong with it ("" is nothing) among the same.
    """
    numbers: dict[str, int] = {}

    def number_lines(lines: Sequence[Any]) -> list[list[int]]:
        return [[numbers.setdefault(x, len(numbers)) for x in (line.text, line.flaw)] for line in lines]

    passages, written = one.results[0].passages, []
    for row in range(len(passages.case)):
        after = [number_lines(results.passages.lines[row, 1]) for results in one.results]
        before = number_lines(passages.lines[row, 0])
        case, role = int(passages.case[row]), str(passages.role[row])
        written.append([case, role, int(passages.sample[row]), before, after])
    return {"texts": list(numbers), "written": written}


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
        about: dict[str, Any] = {"key": column.key, "title": column.title, "says": column.says}
        columns.append(about | ({"edges": list(column.edges)} if words is None else {"words": words}))
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


def _render_page(about: Mapping[str, Any]) -> str:
    # Inside a script nothing is escaped, and "<" could end it.
    meta = json.dumps(about).replace("<", "\\u003c")
    template = load_template(Path(__file__).with_name("explorer.html.jinja"), palette=palette_css())
    return template.render(title=about["title"], meta=meta, scripts=SCRIPTS)
