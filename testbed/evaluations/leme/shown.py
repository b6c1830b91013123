"""How passages are shown: as lines of JSON, the worst edits as text, one edit side by side, and errors."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from corpus.files import staged_file
from testbed.evaluations.leme import RELATED, SUBJECT
from testbed.evaluations.leme.metrics import NINE, error_share
from testbed.evaluations.leme.passages import (
    ACROSS,
    CONTRADICTIONS,
    ERROR_CLASSES,
    GOLD,
    INSIDE,
    WORST,
    PassagePair,
    passage_pairs,
)
from testbed.evaluations.leme.questions import edit_said_share
from testbed.evaluations.leme.readers import model_passages
from testbed.pages.chapter import Chart, Material, SectionPlan
from testbed.run.world import World
from testbed.scores.frame import EDITOR, REFERENCE
from testbed.scores.readers import NO_EDIT
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table
from testbed.scores.views import View


class EditorPassages(NamedTuple):
    """All pairs of passages of an editor's edits, before them and after them, in the same order."""

    editor: ScoredEditor
    before: list[PassagePair]
    after: list[PassagePair]


def texts_of(material: Material) -> list[EditorPassages]:
    """What every editor's models wrote, judged under the first interpretation."""
    return [
        EditorPassages(e, *(passage_pairs(of, model_passages(of, when), 1) for when in (0, 1)))
        for e in material.editors
        for of in [e.edits.results]
    ]


def write_worst_passages(texts: EditorPassages, folder: Path) -> Path:
    """The passages of the edits with the lowest mean of the nine questions, as a text file."""
    editor = texts.editor
    shares = np.stack([editor.values[editor.name][name].by_case for name in NINE])
    is_known = np.isfinite(shares)
    mean = np.where(is_known, shares, 0).sum(0) / np.maximum(is_known.sum(0), 1)
    worst = np.argsort(mean, kind="stable")[:WORST].tolist()
    path = folder / f"worst-{editor.edits.slug}.txt"
    pairs = sorted(
        (pair for pair in texts.after if pair.case in worst), key=lambda pair: worst.index(pair.case)
    )
    with staged_file(path) as aside:
        aside.write_text("\n\n".join(_as_text(pair, mean[pair.case]) for pair in pairs), encoding="utf-8")
    return path


def _as_text(pair: PassagePair, mean: float) -> str:
    text = [f"edit {pair.case}, mean of the nine questions {mean:.2f}"]
    for role in (SUBJECT, RELATED):
        text.append(f"about the {role}")
        for at, line in enumerate(pair.passages[role]):
            classes = pair.error_classes_of(role, at)
            text.append(f"  {line.text}" + (f"   [{', '.join(classes)}]" if classes else ""))
    return "\n".join(text)


def write_passages(texts: EditorPassages, world: World, folder: Path) -> Path:
    """What an editor's model wrote before and after each edit of this world, one passage a line.

    A line has `case`, `entity`, `role`, `reader`, `sample`, `text`, and `sentences`: of each its `text`, its
    `kind` (null where it cannot be read), `why` it is not one, or what it gets wrong, and the classes of
    errors it is an `error` of, under the first interpretation. Passages about twins have no such classes.
    """
    path = folder / f"passages-{texts.editor.edits.slug}.jsonl"
    with staged_file(path) as aside:
        lines = (json.dumps(line, ensure_ascii=False) for line in _passage_records(texts, world))
        aside.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def _passage_records(texts: EditorPassages, world: World) -> Iterator[dict]:
    cases, names = texts.editor.edits.results.cases, world.graph.entities
    in_this_world = cases["run"] == cases["run"].min()
    for reader, pairs in ({NO_EDIT: texts.before} | {texts.editor.name: texts.after}).items():
        for pair in (pair for pair in pairs if in_this_world[pair.case]):
            for role, lines in pair.passages.items():
                yield {
                    "case": pair.case,
                    "entity": names[int(cases[role][pair.case])],
                    "role": role,
                    "reader": reader,
                    "sample": pair.sample,
                    "text": " . ".join(line.text for line in lines),
                    "sentences": [
                        {
                            "text": line.text,
                            "kind": line.sentence and line.sentence.kind.name.lower(),
                            "why": line.flaw,
                            "error": pair.error_classes_of(role, at),
                        }
                        for at, line in enumerate(lines)
                    ],
                }


def side_by_side_table(texts: EditorPassages, world: World) -> Table | None:
    """One edit as two pairs of passages, before and after; None where nothing about this world was written.

    It is the one with a middling number of contradictions among those that say the new object, if any do.
    """
    editor, results = texts.editor, texts.editor.edits.results
    is_in_this_world = results.cases["run"] == results.cases["run"].min()
    after = [pair for pair in texts.after if is_in_this_world[pair.case]]
    if not after:
        return None
    follow = [pair for pair in after if edit_said_share(pair.of_subject, pair.standard) > 0]
    by_contradictions = sorted(
        follow or after, key=lambda pair: sum(len(pair.errors[name]) for name in CONTRADICTIONS)
    )
    middle = by_contradictions[len(by_contradictions) // 2]
    before = next(pair for pair in texts.before if pair.case == middle.case)
    columns = [(pair, role) for pair in (before, middle) for role in (SUBJECT, RELATED)]
    rows: list[list[Cell]] = [
        [_sentence_with_mark(pair, role, at) for pair, role in columns]
        for at in range(max(len(pair.passages[role]) for pair, role in columns))
    ]
    s, r, o = (int(results.cases[name][middle.case]) for name in ("subject", "relation", "object"))
    names, other = world.graph.entities, int(results.cases["related"][middle.case])
    header = [f"{when}: {names[entity]}" for when in ("before", "after") for entity in (s, other)]
    return Table(
        f"{editor.edits.slug}-passages",
        f"{editor.name}: {names[s]} {world.graph.relations[r]} {names[o]}",
        header,
        rows,
        "\u2717 marks what is not so, of facts that stay; \u2260 what another sentence of the two denies.",
        words=4,
    )


def _sentence_with_mark(pair: PassagePair, role: str, at: int) -> str:
    lines, classes = pair.passages[role], pair.error_classes_of(role, at)
    if at >= len(lines):
        return ""
    if GOLD in classes:
        return f"\u2717 {lines[at].text}"
    return f"\u2260 {lines[at].text}" if INSIDE in classes or ACROSS in classes else lines[at].text


def table_of_errors(texts: EditorPassages) -> Table:
    """The first sentence of each class of error."""
    editor, first = texts.editor, {}
    for pair in texts.after:
        for name, marks in pair.errors.items():
            if marks and name not in first:
                role, at = marks[0]
                first[name] = role, pair.passages[role][at].text
    rows: list[list[Cell]] = [[name, *first[name]] for name in ERROR_CLASSES if name in first]
    return Table(f"{editor.edits.slug}-errors", f"{editor.name}: one error of each class",
                 ["class", "passage", "sentence"], rows, words=3)  # fmt: skip


def write_about_errors(material: Material) -> str:
    """Write the worst passages, and all of them, into files; where they are, in words."""
    texts = material.once(texts_of)
    worst = [write_worst_passages(one, material.folder).name for one in texts]
    every = [write_passages(one, material.world, material.folder).name for one in texts]
    return (
        "Errors are counted where the paper reads a sample of them. The twenty worst edits of each editor, "
        f"with their errors marked, are in {', '.join(worst)}; all passages about this world, a line "
        f"of JSON each, in {', '.join(every)}."
    )


SHARES = [*map(error_share, ERROR_CLASSES)]
ERRORS = SectionPlan(
    "errors", "What goes wrong?", write_about_errors,
    [Chart("panels", "errors.svg", "Share of pairs of passages with an error of each class",
           {"": SHARES}, [*ERROR_CLASSES], "share of pairs of passages",
           what="share of pairs with an error")],
    more_tables=[View("leme-errors", "Errors by class", SHARES, {"reader": "who"},
                      (EDITOR, REFERENCE), ranked=True),
                 lambda of: map(table_of_errors, of.once(texts_of))],
)  # fmt: skip
PASSAGES = SectionPlan(
    "passages", "Passages",
    "For each editor one edit that succeeded, with a middling number of contradictions.",
    more_tables=[lambda of: (side_by_side_table(text, of.world) for text in of.once(texts_of))],
)  # fmt: skip
