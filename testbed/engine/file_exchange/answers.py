"""Answers of edits that were made elsewhere, checked and written as the rows of an editor."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from corpus.errors import InputError
from corpus.files import write_json
from lm.editors.interface import Info
from testbed.engine.file_exchange.cases import hash_cases, marks_of, pad_answers, read_answers
from testbed.engine.questions import ModelAnswers, Questions
from testbed.engine.records import (
    Circumstances,
    Columns,
    control_stem,
    rows_of_cases,
    seal_results,
    write_rows,
)
from testbed.protocol import names_of_controls
from testbed.run.world import World

SAME = 1e-4
"""Probabilities of one text may differ so far, read there and here; `door.py` stands alone and has it too."""
TOGETHER = 32
"""Cases that the unedited model is asked at once."""
STOP = 0.05
"""Of probability, that a stop behind the requested object may cost on average before it is remarked on."""


class Answers(NamedTuple):
    """A folder of answers, one line a case.

    Attributes:
        before: of the unedited model.
        after: by what was told in place of the request ("" for the request) and the mark, 0 for each case
            when it was edited, else the number of edits of its sequence after which it was asked again.
        sequence: edits that build on each other.
    """

    before: list[dict[str, Any]]
    after: dict[tuple[str, int], list[dict[str, Any]]]
    controls: list[str]
    sequence: int


def read_folder(
    folder: Path, about: dict[str, Any], world: World, questions: Questions, sequence: int
) -> Answers:
    """Read answers, and see that they are those to these cases, and all of them.

    Raises:
        InputError: they are not.
    """
    cases = questions.cases
    if about.get("cases") != hash_cases(world, cases):
        raise InputError(f"{folder} answers cases that other code made; export them and examine again")
    controls = names_of_controls(cases, sequence)
    before = _sort_lines(folder / "before.jsonl", read_answers(folder / "before.jsonl"), range(len(cases)))
    lines: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for line in read_answers(folder / "after.jsonl"):
        lines.setdefault((line["control"], line["mark"]), []).append(line)
    marks = [("", mark) for mark in marks_of(len(cases), sequence)]
    after = {}
    for control, mark in [*((name, 0) for name in ("", *controls)), *marks]:
        wanted = [k for k in range(len(cases)) if not mark or k % sequence < mark]
        found = lines.get((control, mark), [])
        after[control, mark] = _sort_lines(folder / "after.jsonl", found, wanted)
    return Answers(before, after, controls, sequence)


def _sort_lines(path: Path, lines: list[dict[str, Any]], wanted: Sequence[int]) -> list[dict[str, Any]]:
    by_case = {line["case"]: line for line in lines}
    missing = [k for k in wanted if k not in by_case]
    if missing:
        raise InputError(
            f"{path} lacks {len(missing)} of {len(wanted)} cases (the first is {missing[0]}); "
            "examine goes on where it was"
        )
    return [by_case[k] for k in wanted]


def check_before(questions: Questions, answers: Answers, about: dict[str, Any]) -> None:
    """Hold the answers of the unedited model there against those here.

    Raises:
        InputError: they differ; says by how much, and which side is likely at fault.
    """
    theirs = pad_answers(questions, answers.before)
    which = np.arange(len(questions.cases))
    parts = [
        questions.answers_before(some[:, None]) for some in np.array_split(which, -(-len(which) // TOGETHER))
    ]
    ours = ModelAnswers(*map(np.concatenate, zip(*parts, strict=True)))
    distances = np.concatenate(
        [
            np.abs(a - b).reshape(len(which), -1)
            for a, b in zip(theirs, ours, strict=True)
            if a.dtype == np.float32
        ],
        axis=1,
    )
    if np.nanmax(distances) <= SAME and np.isfinite(distances).all():
        return
    nonzero = distances[distances > 0]
    share = float(np.mean(~(nonzero <= SAME)))
    version = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    if not np.isfinite(distances).all():
        why = f"some answers there are not numbers; the fault is on the side of PyTorch ({version})"
    elif share > 0.5:
        why = (
            f"nearly all differ ({share:.0%}): the weights were read in another precision or were changed "
            f"there; load them in float32, on {about['device']} as on a CPU"
        )
    else:
        why = (
            f"{share:.0%} differ: the weights are the same and texts were read otherwise there, as by "
            "padding; examine with batch=1"
        )
    raise InputError(
        f"the unedited model answers otherwise there than here (by {np.nanmax(distances):.2g}, "
        f"{SAME:g} is allowed); {why}"
    )


def write_results(questions: Questions, answers: Answers, columns: Columns, folder: Path) -> None:
    """Write the tables of all answers, and seal them."""
    for (control, mark), lines in answers.after.items():
        stem = f"retained-{mark}-" if mark else control_stem(control)
        write_rows(make_rows(questions, answers, lines, columns), folder, columns, stem)
    write_json(folder / "cost.json", {"elsewhere": True})
    seal_results(folder)


def make_rows(
    questions: Questions, answers: Answers, lines: Sequence[dict[str, Any]], columns: Columns
) -> dict[str, list[dict]]:
    """Rows of all tables of some lines; passages are left out, as nobody wrote them."""
    number = np.array([line["case"] for line in lines])
    cases = [questions.cases[k] for k in number]
    seconds = {line["case"]: line["seconds"] for line in answers.after["", 0]}
    nothing = np.zeros(len(lines), np.int32)
    subjects = np.array([case.request.subject for case in cases])
    how = Circumstances(
        case=number,
        cluster=subjects if answers.sequence == 1 else number // answers.sequence,
        position=number % answers.sequence,
        info=Info(np.full((len(lines), 1), np.nan, np.float32), nothing, nothing, nothing),
        seconds=np.array([line.get("seconds", seconds[line["case"]]) for line in lines]),
    )
    before, after = (
        pad_answers(questions, some) for some in ([answers.before[k] for k in number.tolist()], lines)
    )
    rows = rows_of_cases(cases, before, after, how, questions.names, columns)
    for row, line in zip(rows["cases"], lines, strict=True):
        row["fault"] = line.get("fault") or row["fault"]
    return rows


def describe_strength(questions: Questions, answers: Answers) -> Iterator[str]:
    """How far requests were taken up, the object's stop included or not; and what was read singly."""
    ended, begun = [], []
    lines = answers.after["", 0]
    edited = [line for line in lines if not line.get("fault")]
    for case, line in ((questions.cases[line["case"]], line) for line in edited):
        for choice, with_stop, without in zip(case.choices, line["ended"], line["begun"], strict=True):
            at = np.flatnonzero(choice.options == case.request.object)
            if (choice.subject, choice.relation, choice.phrasing) == (*case.request[:2], 0) and len(at):
                ended.append(with_stop[at[0]])
                begun.append(without[at[0]])
                break
    if ended:
        a, b = float(np.mean(ended)), float(np.mean(begun))
        yield f"the requested object after its edit: probability {b:.3f}, and {a:.3f} with the stop behind it"
        if b - a > STOP:
            yield (
                "the stop is learned less than the object: the editor may have been told the target without "
                "it; request['target_stopped'] and request['target_ids'] have it, and the metrics count it"
            )
    if len(edited) < len(lines):
        yield f"{len(lines) - len(edited)} of {len(lines)} edits failed; their causes are in the explorer"
    singly = sum(line["singly"] for line in edited)
    if singly:
        yield f"{singly} of {len(edited)} edited models read texts otherwise in batches: asked text by text"
