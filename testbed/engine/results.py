"""Results as arrays: what one editor's edits came to, read from the tables that a sweep wrote."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus.errors import InputError
from corpus.text.language import Atom, Kind, Sentence
from corpus.text.reading import Line
from testbed.engine.records import TABLES, WHEN, WORDS, Columns, read_table, table_file
from testbed.protocol import ABSENT, Facet

AFTER_AN_EDIT = {"lm", "lm_open", "lm_answer", "lines", "ended", "tokens", "log_p"}
"""Columns of questions that the edited model fills."""


class Choices(NamedTuple):
    """Choices as arrays: N of them, C options (padded), T times of the agent.

    Attributes:
        case: int64[N], the row of its case.
        role, group: str[N].
        subject, relation: int64[N].
        stated: int64[N], how many statements of the corpus are about them.
        options: int64[N, C], ABSENT as padding.
        agent, frequency: float64[N, T, C]; 0 as padding.
        lm: float64[N, 2, C], before and after the edit.
        lm_open: as lm, without the probability that the object ends there (Hase's definition).
        agent_answer: int64[N, T], the agent's most probable object; ABSENT where it is undetermined.
        lm_answer: int64[N, 2], what the model generates; ABSENT if that is not an object.
        offered: bool[N, C], the options that may be chosen; False as padding.
        is_told: bool[N], whether the editor, a control, was told what the agent believes of it.
        facets: the columns that the evaluation declares for choices, each [N].
    """

    case: np.ndarray
    role: np.ndarray
    group: np.ndarray
    subject: np.ndarray
    relation: np.ndarray
    stated: np.ndarray
    options: np.ndarray
    agent: np.ndarray
    frequency: np.ndarray
    lm: np.ndarray
    lm_open: np.ndarray
    agent_answer: np.ndarray
    lm_answer: np.ndarray
    offered: np.ndarray
    is_told: np.ndarray
    facets: Mapping[str, np.ndarray] = {}


class Claims(NamedTuple):
    """Claims as arrays: M of them.

    Attributes:
        case, role, group: as for choices.
        agent: float64[M, T], the agent's belief that the sentence is true.
        lm: float64[M, 2, 2], before and after the edit, p(true) and p(false).
    """

    case: np.ndarray
    role: np.ndarray
    group: np.ndarray
    agent: np.ndarray
    lm: np.ndarray


class Passages(NamedTuple):
    """Texts as arrays: P of them.

    Attributes:
        case, role: as for choices.
        sample: int64[P].
        lines: object[P, 2], before and after the edit, tuples of sentences as they were read, see
            `corpus.text.reading.Line`; the last is what stands behind the last stop, be it nothing.
        ended: bool[P, 2], whether the text came to the end of its document.
        tokens: int64[P, 2], of the text, its opening apart.
        log_p: float64[P, 2], log-probability of the text under the unedited model.
    """

    case: np.ndarray
    role: np.ndarray
    sample: np.ndarray
    lines: np.ndarray
    ended: np.ndarray
    tokens: np.ndarray
    log_p: np.ndarray


NO_PASSAGES = Passages(
    np.zeros(0, int),
    np.zeros(0, str),
    np.zeros(0, int),
    *(np.zeros((0, 2), t) for t in (object, bool, int, float)),
)


@dataclass(frozen=True, eq=False)
class Results:
    """What one editor's edits came to: E cases with their questions.

    Attributes:
        cases: the columns of cases.parquet but for losses, each [E]; cases of one `cluster` depend on each
            other (one subject, or one sequence of edits), and `position` counts the edits before this one
            in its sequence.
        times: what the agent's T beliefs are: before, then one for each reading of the request.
        lost: bool[E], the edits that left the model without numbers to answer with: after these it gives no
            option any probability, and no answer. None where there are none.
        recalibrated: float64[N, 2, C], the unedited model's answers under one temperature, and under one of
            each stratum (see `testbed.scores.recalibration`); None where none were fitted.
    """

    cases: dict[str, np.ndarray]
    choices: Choices
    claims: Claims
    times: tuple[str, ...]
    passages: Passages = NO_PASSAGES
    lost: np.ndarray | None = None
    recalibrated: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.cases["case"])

    @cached_property
    def memory(self) -> dict[Hashable, Any]:
        """What metrics of several readers need of these results, found once; see `Answers.once`."""
        return {}

    @property
    def lost_edits(self) -> int:
        """How many edits left no numbers."""
        return 0 if self.lost is None else int(self.lost.sum())


class NoNumbersError(InputError):
    """Of some edits, none left a model that answers with numbers."""


def cluster_levels(results: Results) -> dict[str, np.ndarray]:
    """By level, int[E] that is equal for cases which depend on each other (see `testbed.scores.statistics`).

    They share a subject, or a sequence of edits; the requested object; the world (one run is one world).
    Subjects and objects of different worlds are different ones.
    """
    cases = results.cases
    world = cases.get("run", np.zeros_like(cases["object"]))
    objects = np.unique(np.stack([world, cases["object"]]), axis=1, return_inverse=True)[1].reshape(-1)
    unit = "sequence" if cases["position"].any() else "subject"
    return {unit: cases["cluster"], "object": objects, "world": world}


def read_results(folder: Path, columns: Columns, stem: str = "", may_be_silent: bool = False) -> Results:
    """Read the tables of one stem into arrays.

    Args:
        may_be_silent: take edits of which none left numbers for failures, too.

    Raises:
        InputError: a file is missing, damaged or empty, or a question is of no case.
        NoNumbersError: no edit gave any, and silence will not do.
    """
    paths = {name: table_file(folder, name, stem) for name in TABLES}
    table = {
        name: read_table(path, columns.schemas[name]) for name, path in paths.items() if name != "choices"
    }
    choices = _ColumnByColumn(paths["choices"], columns.schemas["choices"])
    path = paths["cases"]
    if not len(table["cases"]):
        raise InputError(f"{path} holds no case; move its folder away and edit again")
    cases = {
        name: table["cases"][name].to_numpy() for name in columns.schemas["cases"].names if name != "loss"
    }
    results = Results(
        cases,
        _read_choices(choices, _rows_of_cases(choices, cases["case"], path), columns),
        _read_claims(table["claims"], _rows_of_cases(table["claims"], cases["case"], path), columns.times),
        columns.times,
        _read_passages(table["passages"], _rows_of_cases(table["passages"], cases["case"], path)),
    )
    return mark_lost_edits(results, folder, may_be_silent)


def select_choices(results: Results, which: np.ndarray) -> Results:
    """The results with some of their choices, bool[N], and all else."""
    choices, recalibrated = results.choices, results.recalibrated
    facets = {name: column[which] for name, column in choices.facets.items()}
    columns = {name: getattr(choices, name)[which] for name in Choices._fields if name != "facets"}
    return replace(
        results,
        choices=Choices(**columns, facets=facets),
        recalibrated=None if recalibrated is None else recalibrated[which],
    )


def halves_of(results: Results) -> tuple[Results, Results | None]:
    """The questions that the editor was not told of, the request among them, and the request and the others.

    Only a control is told what the agent believes of questions. Who was told of none, or of all, has but
    one half.
    """
    choices, cases = results.choices, results.cases
    is_told = choices.is_told
    if not is_told.any():
        return results, None
    is_request = (choices.subject == cases["subject"][choices.case]) & (
        choices.relation == cases["relation"][choices.case]
    )
    if (is_told | is_request).all():
        return results, None
    return select_choices(results, ~is_told), select_choices(results, is_told | is_request)


def mark_lost_edits(results: Results, folder: Path, may_be_silent: bool = False) -> Results:
    """The results with the edits marked after which the model gives no numbers: it answers nothing there.

    Leaving them out would flatter whoever fails like that where other editors fail in numbers.

    Raises:
        NoNumbersError: that is so of all edits, unless they `may_be_silent`.
    """
    choices, claims = results.choices, results.claims
    lost = np.zeros(len(results), bool)
    for case, *answers in ((choices.case, choices.lm, choices.lm_open), (claims.case, claims.lm)):
        for answer in answers:
            lost[case[~np.isfinite(answer).all(axis=(1, 2))]] = True
    if not lost.any():
        return results
    if lost.all() and not may_be_silent:
        raise NoNumbersError(
            f"{folder}: none of {len(lost)} edits gave numbers; look for a division by zero in the editor"
        )

    def silence_answers(answers: np.ndarray, case: np.ndarray) -> np.ndarray:
        """float64[N, 2, ...] with 0 after the edits that are lost."""
        silent = np.where(np.isfinite(answers), answers, 0.0)
        silent[lost[case], 1] = 0.0
        return silent

    answered = choices.lm_answer.copy()
    answered[lost[choices.case], 1] = ABSENT
    lm, lm_open = (silence_answers(x, choices.case) for x in (choices.lm, choices.lm_open))
    return replace(
        results,
        choices=choices._replace(lm=lm, lm_open=lm_open, lm_answer=answered),
        claims=claims._replace(lm=silence_answers(claims.lm, claims.case)),
        lost=lost,
    )


class _ColumnByColumn:
    """A table on disk of which a column is read when it is needed: the memory of one serves the next."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path, self._schema = path, schema
        try:
            is_known = pq.read_schema(path).names == schema.names
        except (OSError, pa.ArrowInvalid):
            is_known = False
        if not is_known:
            # It raises an error that says why.
            read_table(path, schema)

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        try:
            return pq.read_table(self._path, schema=self._schema, columns=[name])[name]
        except (OSError, pa.ArrowInvalid):
            return read_table(self._path, self._schema)[name]


def _rows_of_cases(table: pa.Table | _ColumnByColumn, numbers: np.ndarray, path: Path) -> np.ndarray:
    """int64: for each question, the row of its case."""
    order = np.argsort(numbers, kind="stable")
    question_cases = table["case"].to_numpy()
    at = np.minimum(np.searchsorted(numbers[order], question_cases), len(numbers) - 1)
    if len(question_cases) and (numbers[order][at] != question_cases).any():
        raise InputError(f"{path} lacks cases that questions are of; move its folder away and edit again")
    return order[at]


def _read_choices(table: _ColumnByColumn, case: np.ndarray, columns: Columns) -> Choices:
    counts = pc.list_value_length(table["options"]).to_numpy()
    width = int(counts.max(initial=1))
    is_item = np.arange(width) < counts[:, None]

    def fill(padded: np.ndarray, lists: pa.ChunkedArray) -> np.ndarray:
        """Lists as rows of an array that is wide enough; their items end to end are those of its rows."""
        first = 0
        for chunk in lists.chunks:
            rows = slice(first, first + len(chunk))
            padded[rows][is_item[rows]] = chunk.flatten().to_numpy(zero_copy_only=False)
            first += len(chunk)
        return padded

    def vectors(names: Sequence[str]) -> np.ndarray:
        padded = np.zeros((len(counts), len(names), width))
        for t, name in enumerate(names):
            fill(padded[:, t], table[name])
        return padded

    def answers(names: Sequence[str]) -> np.ndarray:
        return np.stack([table[name].to_numpy() for name in names], axis=1).astype(np.int64)

    times = columns.times
    return Choices(
        case=case,
        role=_text_column(table["role"]),
        group=_text_column(table["group"]),
        **{name: table[name].to_numpy().astype(np.int64) for name in ("subject", "relation", "stated")},
        options=fill(np.full((len(counts), width), ABSENT), table["options"]),
        agent=vectors([f"agent_{t}" for t in times]),
        frequency=vectors([f"frequency_{t}" for t in times]),
        lm=vectors([f"lm_{w}" for w in WHEN]),
        lm_open=vectors([f"lm_open_{w}" for w in WHEN]),
        agent_answer=answers([f"agent_answer_{t}" for t in times]),
        lm_answer=answers([f"lm_answer_{w}" for w in WHEN]),
        offered=fill(np.zeros((len(counts), width), bool), table["offered"]),
        is_told=table["is_told"].to_numpy(),
        facets={name: _read_column(table[name], kind) for name, kind in columns.of_choices.items()},
    )


def _read_claims(table: pa.Table, case: np.ndarray, times: Sequence[str]) -> Claims:
    pairs = [[table[f"{word}_{when}"].to_numpy() for word in WORDS] for when in WHEN]
    agent = np.stack([table[f"agent_{t}"].to_numpy() for t in times], axis=1)
    return Claims(
        case,
        _text_column(table["role"]),
        _text_column(table["group"]),
        agent,
        np.moveaxis(np.array(pairs), 2, 0),
    )


def _read_passages(table: pa.Table, case: np.ndarray) -> Passages:
    def stack_times(name: str) -> np.ndarray:
        return np.stack([table[f"{name}_{when}"].to_numpy() for when in WHEN], axis=1)

    lines = np.empty((len(table), len(WHEN)), object)
    line_of_text: dict[str, Line] = {}
    for w, when in enumerate(WHEN):
        lists = table[f"lines_{when}"]
        edges = np.cumsum([0, *pc.list_value_length(lists).to_pylist()])
        items = _items_of(lists)
        texts = pc.struct_field(items, "text").to_pylist()
        # In one world a text is always read in the same way.
        new_texts = {text: i for i, text in enumerate(texts) if text not in line_of_text}
        rows = items.take(pa.array([*new_texts.values()], pa.int64())).to_pylist()
        line_of_text |= {row["text"]: _line_of(row) for row in rows}
        for i in range(len(table)):
            lines[i, w] = tuple(line_of_text[text] for text in texts[edges[i] : edges[i + 1]])
    sample = table["sample"].to_numpy().astype(np.int64)
    numbers = map(stack_times, ("ended", "tokens", "log_p"))
    return Passages(case, _text_column(table["role"]), sample, lines, *numbers)


def _line_of(row: dict) -> Line:
    """The sentence that `line_row` wrote."""
    if row["kind"] is None:
        return Line(row["text"], None, row["flaw"])
    a = Atom(row["subject"], row["relation"], row["object"])
    has_second = row["subject_b"] is not None
    b = Atom(row["subject_b"], row["relation_b"], row["object_b"]) if has_second else None
    sentence = Sentence(Kind(row["kind"]), row["label"], a, b, row["phrasing"])
    return Line(row["text"], sentence, row["flaw"])


def _read_column(column: pa.ChunkedArray, kind: type[Facet]) -> np.ndarray:
    if kind is tuple:
        arrays = np.empty(len(column), object)
        arrays[:] = [np.array(one) for one in column.to_pylist()]
        return arrays
    return _text_column(column) if kind is str else column.to_numpy()


def _text_column(column: pa.ChunkedArray) -> np.ndarray:
    # A few words stand again and again.
    words = pc.unique(column)
    return np.array(words.to_pylist(), dtype=np.str_)[pc.index_in(column, words).to_numpy()]


def _items_of(lists: pa.ChunkedArray) -> pa.ChunkedArray:
    """The items of all lists, end to end."""
    return pa.chunked_array([chunk.flatten() for chunk in lists.chunks], lists.type.value_type)
