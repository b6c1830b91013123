"""Passages themselves: one edit side by side, one of each class of error, and every editor's twenty worst."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from corpus.files import staged_file
from testbed.evaluations.leme.flaws import ACROSS, CLASSES, GOLD, INSIDE, Marks, find_errors
from testbed.evaluations.leme.meanings import NINE
from testbed.evaluations.leme.measure import iterate_samples
from testbed.evaluations.leme.questions import edit_said_share
from testbed.evaluations.leme.readers import model_passages
from testbed.evaluations.leme.roles import RELATED, SUBJECT
from testbed.evaluations.leme.standard import Standard, standards_of_cases
from testbed.evaluations.leme.statements import Lines, statements_of
from testbed.run.world import World
from testbed.scores.comparison import ScoredEditor
from testbed.scores.tables import Cell, Table

WORST = 20
CONTRADICTIONS = (INSIDE, ACROSS, GOLD)


class PassagePair(NamedTuple):
    """What was written of one edit in one sample, with its errors, and what it says of the edited fact."""

    case: int
    sample: int
    passages: Mapping[str, Lines]
    marks: Marks
    edit: float

    @property
    def contradiction_count(self) -> int:
        """How many sentences contradict another one, or what is so."""
        return sum(len(self.marks[name]) for name in CONTRADICTIONS)


class EditorPassages(NamedTuple):
    """All pairs of passages of an editor's edits, before them and after them, in the same order."""

    editor: ScoredEditor
    before: list[PassagePair]
    after: list[PassagePair]


def mark_passages(editor: ScoredEditor) -> EditorPassages:
    """Mark the errors in everything that was written, under the first reading."""
    results = editor.edited.results
    known: list[Standard] = standards_of_cases(results, 1)

    def pairs(when: int) -> Iterator[PassagePair]:
        for case, sample, passages in iterate_samples(results, model_passages(results, when)):
            edit = edit_said_share(statements_of(passages[SUBJECT]), known[case])
            yield PassagePair(case, sample, passages, find_errors(passages, known[case]), edit)

    return EditorPassages(editor, [*pairs(0)], [*pairs(1)])


def side_by_side_table(texts: EditorPassages, world: World) -> Table | None:
    """One edit as two pairs of passages, before and after; None where nothing about this world was written.

    It is the one with a middling number of contradictions among those that say the new object, if any do.
    """
    editor, results = texts.editor, texts.editor.edited.results
    ours = set(np.flatnonzero(results.cases["run"] == results.cases["run"].min()).tolist())
    after = [pair for pair in texts.after if pair.case in ours]
    if not after:
        return None
    ranked = sorted(
        [pair for pair in after if pair.edit > 0] or after, key=lambda pair: pair.contradiction_count
    )
    chosen = ranked[len(ranked) // 2]
    before = next(pair for pair in texts.before if pair.case == chosen.case)
    columns = [(pair, role) for pair in (before, chosen) for role in (SUBJECT, RELATED)]
    rows: list[list[Cell]] = []
    for at in range(max(len(pair.passages[role]) for pair, role in columns)):
        rows.append([_sentence_with_mark(pair, role, at) for pair, role in columns])
    s, r, o = (int(results.cases[name][chosen.case]) for name in ("subject", "relation", "object"))
    names, other = world.graph.entities, int(results.cases["related"][chosen.case])
    header = [f"{when}: {names[entity]}" for when in ("before", "after") for entity in (s, other)]
    return Table(
        f"{editor.edited.slug}-passages",
        f"{editor.name}: {names[s]} {world.graph.relations[r]} {names[o]}",
        header,
        rows,
        "\u2717 marks what is not so, of facts that stay; \u2260 what another sentence of the two denies.",
        words=4,
    )


def _sentence_with_mark(pair: PassagePair, role: str, at: int) -> str:
    lines = pair.passages[role]
    if at >= len(lines):
        return ""
    if (role, at) in pair.marks[GOLD]:
        return f"\u2717 {lines[at].text}"
    contradicted = any((role, at) in pair.marks[name] for name in (INSIDE, ACROSS))
    return f"\u2260 {lines[at].text}" if contradicted else lines[at].text


def table_of_errors(texts: EditorPassages) -> Table:
    """The first sentence of each class of error."""
    editor = texts.editor
    first: dict[str, tuple[str, str]] = {}
    for pair in texts.after:
        for name, marks in pair.marks.items():
            if marks and name not in first:
                role, at = marks[0]
                first[name] = role, pair.passages[role][at].text
    rows: list[list[Cell]] = [[name, *first[name]] for name in CLASSES if name in first]
    return Table(f"{editor.edited.slug}-errors", f"{editor.name}: one error of each class",
                 ["class", "passage", "sentence"], rows, words=3)  # fmt: skip


def write_worst_passages(texts: EditorPassages, folder: Path) -> Path:
    """The passages of the edits with the lowest mean of the nine questions, as a text file."""
    editor = texts.editor
    values = editor.values[editor.name]
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.stack([values[name].numerator / values[name].denominator for name in NINE])
    known = np.isfinite(shares)
    mean = np.where(known, shares, 0).sum(0) / np.maximum(known.sum(0), 1)
    worst = np.argsort(mean, kind="stable")[:WORST].tolist()
    path = folder / f"worst-{editor.edited.slug}.txt"
    with staged_file(path) as aside:
        of = [pair for pair in texts.after if pair.case in worst]
        of.sort(key=lambda pair: worst.index(pair.case))
        aside.write_text("\n\n".join(_as_text(pair, mean[pair.case]) for pair in of), encoding="utf-8")
    return path


def _as_text(pair: PassagePair, mean: float) -> str:
    said = [f"edit {pair.case}, mean of the nine questions {mean:.2f}"]
    for role in (SUBJECT, RELATED):
        said.append(f"about the {role}")
        for at, line in enumerate(pair.passages[role]):
            classes = [name for name in CLASSES if (role, at) in pair.marks[name]]
            said.append(f"  {line.text}" + (f"   [{', '.join(classes)}]" if classes else ""))
    return "\n".join(said)
