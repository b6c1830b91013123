"""Results on disk: a row for each case and each of its questions; every metric can be computed from them.

    cases.parquet     the request, its facets, and what the edit took
    choices.parquet   probabilities of the options and answers, of agent, corpus and model
    claims.parquet    p(true) and p(false) of a sentence, and the agent's belief
    passages.parquet  sentences that the model wrote, and what they say

Each row has the number of its case. Tables of one sweep lie in one folder. A stem before these names marks a
part of the sweep, questions asked again after later edits, or a control. `cases` is written last: if it is
there, so are the others (design.md 6, 8).
"""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from corpus.errors import InputError
from corpus.files import CHECKSUMS, staged_file
from corpus.text.reading import Line, Reader
from corpus.text.tokenizer import BOS, PAD, SEP, UNK, Tokenizer
from testbed.protocol import BEFORE, Case, Facet, texts_of
from testbed.run.object_names import ObjectNames

if TYPE_CHECKING:
    # What is read here needs no JAX, which takes a second to load.
    from lm.editors.interface import Info
    from testbed.engine.passages import Texts
    from testbed.engine.questions import ModelAnswers

TABLES = ("choices", "claims", "passages", "cases")
"""In the order they are written."""
WHEN = ("before", "after")
WORDS = ("true", "false")
_TYPES = {
    bool: pa.bool_(),
    int: pa.int32(),
    float: pa.float64(),
    str: pa.string(),
    tuple: pa.list_(pa.float64()),
}
_VECTORS = ("agent", "frequency")
_MODEL = ("lm", "lm_open")

_ATOM = ("subject", "relation", "object")
LINE = pa.struct(
    [
        ("text", pa.string()),
        ("flaw", pa.string()),
        ("kind", pa.int8()),
        ("label", pa.bool_()),
        ("phrasing", pa.int16()),
        *((name, pa.int32()) for name in (*_ATOM, *(f"{name}_b" for name in _ATOM))),
    ]
)
"""A line's columns; those of a sentence are null where there is none, those of a second atom too."""

Rows = dict[str, list[dict]]
"""Table -> its rows."""


class Columns:
    """Columns of an evaluation's tables.

    Args:
        interpretations: ways in which the agent takes the request, one for each of its beliefs after it.
        facets: further columns of cases by name, and what they hold.
        of_choices: further columns of choices.
    """

    def __init__(
        self,
        interpretations: Sequence[str],
        facets: Mapping[str, type[Facet]],
        of_choices: Mapping[str, type[Facet]] = {},
    ) -> None:
        self.times = (BEFORE, *interpretations)
        self.facets, self.of_choices = dict(facets), dict(of_choices)

    @cached_property
    def schemas(self) -> dict[str, pa.Schema]:
        """Table -> its columns."""
        integer, real, text = pa.int32(), pa.float64(), pa.string()
        reals = pa.list_(real)
        cases = {
            **dict.fromkeys(("case", "subject", "relation", "object", "truth"), integer),
            "kind": text, "weight": real, "credence": real,
            **{name: _TYPES[kind] for name, kind in self.facets.items()},
            **dict.fromkeys(("cluster", "position", "steps", "forward", "backward"), integer),
            "seconds": real, "loss": pa.list_(pa.float32()), "fault": text,
        }  # fmt: skip
        question_columns = {"case": integer, "role": text, "group": text}
        choices = {
            **question_columns, "subject": integer, "relation": integer, "stated": integer,
            "phrasing": integer, "is_told": pa.bool_(),
            **{name: _TYPES[kind] for name, kind in self.of_choices.items()},
            "options": pa.list_(integer), "offered": pa.list_(pa.bool_()),
            **{f"{who}_{t}": reals for who in _VECTORS for t in self.times},
            **{f"agent_answer_{t}": integer for t in self.times},
            **{f"{who}_{w}": reals for who in _MODEL for w in WHEN},
            **{f"lm_answer_{w}": integer for w in WHEN},
        }  # fmt: skip
        claims = {
            **question_columns, "sentence": text,
            **{f"agent_{t}": real for t in self.times},
            **{f"{word}_{w}": real for w in WHEN for word in WORDS},
        }  # fmt: skip
        text_columns = {"lines": pa.list_(LINE), "ended": pa.bool_(), "tokens": integer, "log_p": real}
        passages = {
            "case": integer, "role": text, "sample": integer,
            **{f"{name}_{w}": kind for w in WHEN for name, kind in text_columns.items()},
        }  # fmt: skip
        tables = {"cases": cases, "choices": choices, "claims": claims, "passages": passages}
        return {name: pa.schema(list(columns.items())) for name, columns in tables.items()}


class Circumstances(NamedTuple):
    """How each of some cases was edited; every field leads with cases.

    Attributes:
        case: its number in the sweep.
        cluster: cases of one cluster are not independent of each other.
        position: how many edits came before it in its sequence.
        info: what the editor reports of it.
        seconds: of the batch it was edited in, for each of the batch's edits.
    """

    case: np.ndarray
    cluster: np.ndarray
    position: np.ndarray
    info: "Info"
    seconds: np.ndarray


def rows_of_cases(
    cases: Sequence[Case],
    before: "ModelAnswers",
    after: "ModelAnswers",
    how: Circumstances,
    names: ObjectNames,
    columns: Columns,
    told: Sequence[Collection[tuple[int, int]]] = (),
) -> Rows:
    """The rows of some cases, of their choices and of their claims.

    Args:
        told: for each case, facts (subject, relation) beside the request whose answers the editor, a control,
            has seen; empty if it has seen none.
    """
    generated = [names.objects_of(np.asarray(x.tokens)) for x in (before, after)]
    rows = no_rows()
    for i, case in enumerate(cases):
        number = int(how.case[i])
        for q, choice in enumerate(case.choices):
            n = len(choice.options)
            row = {"case": number, "role": choice.role, "group": choice.group}
            row |= {name: getattr(choice, name) for name in ("subject", "relation", "stated", "options")}
            row |= {name: choice.facets[name] for name in columns.of_choices}
            row["phrasing"] = choice.phrasing
            row["is_told"] = bool(told) and (choice.subject, choice.relation) in told[i]
            row["offered"] = np.ones(n, bool) if choice.offered is None else choice.offered
            for t, time in enumerate(columns.times):
                row |= {f"{who}_{time}": getattr(choice, who)[t] for who in _VECTORS}
                row[f"agent_answer_{time}"] = int(choice.answer[t])
            for w, when in enumerate(WHEN):
                answers = (before, after)[w]
                row[f"lm_{when}"] = answers.ended[i, q, :n]
                row[f"lm_open_{when}"] = answers.begun[i, q, :n]
                row[f"lm_answer_{when}"] = int(generated[w][i, q])
            rows["choices"].append(row)
        for q, claim in enumerate(case.claims):
            row = {"case": number, "role": claim.role, "group": claim.group}
            row["sentence"] = names.language.render(claim.sentence)
            row |= {f"agent_{time}": float(claim.agent[t]) for t, time in enumerate(columns.times)}
            for answers, when in zip((before, after), WHEN, strict=True):
                row |= {f"{word}_{when}": answers.claims[i, q, k] for k, word in enumerate(WORDS)}
            rows["claims"].append(row)
        request = case.request
        rows["cases"].append(
            {"subject": request.subject, "relation": request.relation, "object": request.object,
             "truth": case.truth, "kind": request.kind, "weight": request.weight, "credence": case.credence}
            | {name: case.facets[name] for name in columns.facets}
            | {name: getattr(how, name)[i] for name in ("case", "cluster", "position", "seconds")}
            | {name: getattr(how.info, name)[i] for name in ("steps", "forward", "backward", "loss")}
            | {"fault": ""}
        )  # fmt: skip
    without = cases_without_numbers(rows)
    for row in rows["cases"]:
        row["fault"] = "the model it edited answers with what is no number" if row["case"] in without else ""
    return rows


def cases_without_numbers(rows: Rows) -> set[int]:
    """The cases after which the model answers some question with what is no number."""
    choices = ((row, (*row["lm_after"], *row["lm_open_after"])) for row in rows["choices"])
    claims = ((row, [row[f"{word}_after"] for word in WORDS]) for row in rows["claims"])
    return {row["case"] for row, answers in (*choices, *claims) if not np.isfinite(answers).all()}


def passage_rows(
    tokenizer: Tokenizer,
    reader: Reader,
    cases: Sequence[Case],
    numbers: np.ndarray,
    before: "Texts",
    after: "Texts",
) -> list[dict]:
    """A row for every text: what was written before the edit and after it, and read, opening included."""
    rows = []
    for i, case in enumerate(cases):
        for j, (_, passage, sample) in enumerate(texts_of(case)):
            row = {"case": int(numbers[i]), "role": passage.role, "sample": sample}
            for texts, when in ((before, "before"), (after, "after")):
                text = texts.tokens[i, j, : passage.longest]
                text = text[text != PAD]
                document_sentences = split_sentences(tokenizer, np.concatenate([passage.opening, text]))
                row[f"lines_{when}"] = [*map(line_row, reader.read(document_sentences))]
                row[f"ended_{when}"] = len(text) < passage.longest
                row[f"tokens_{when}"] = len(text)
                row[f"log_p_{when}"] = texts.log_p[i, j]
            rows.append(row)
    return rows


def split_sentences(tokenizer: Tokenizer, document: np.ndarray) -> list[str]:
    """The sentences of a document's tokens; the last is what stands behind the last stop, be it nothing."""
    tokens = document[int(len(document) > 0 and document[0] == BOS) :]
    # The mark that begins documents is not a word of one, but decoding would pass over it.
    tokens = np.where(tokens == BOS, UNK, tokens)
    parts = np.split(tokens, np.flatnonzero(tokens == SEP))
    return [tokenizer.decode(part[part != SEP].tolist()) for part in parts] if len(tokens) else []


def line_row(line: Line) -> dict:
    """A sentence as it was read, as a row of `LINE` has it."""
    row: dict = {"text": line.text, "flaw": line.flaw, "kind": None}
    if line.sentence is not None:
        kind, label, a, b, phrasing = line.sentence
        row |= {"kind": int(kind), "label": label, "phrasing": phrasing}
        row |= dict(zip(_ATOM, a, strict=True))
        row |= dict(zip((f"{name}_b" for name in _ATOM), b or (), strict=False))
    return row


def no_rows() -> Rows:
    """Tables that are empty."""
    return {table: [] for table in TABLES}


def concatenate_rows(*several: Rows) -> Rows:
    """All their rows, in this order."""
    return {table: [row for rows in several for row in rows[table]] for table in TABLES}


def write_rows(
    rows: Rows, folder: Path, columns: Columns, stem: str = "", behind: Sequence[str] = ()
) -> None:
    """Write the tables of one stem, each file whole or not at all, `cases` last.

    Args:
        behind: stems of this folder whose rows come first.
    """
    for table in TABLES:
        schema = columns.schemas[table]
        stored = [read_table(table_file(folder, table, part), schema) for part in behind]
        with staged_file(table_file(folder, table, stem)) as aside:
            pq.write_table(pa.concat_tables([*stored, pa.Table.from_pylist(rows[table], schema)]), aside)


def is_written(folder: Path, stem: str = "") -> bool:
    """Whether all tables of a stem are there."""
    return table_file(folder, "cases", stem).exists()


SUMMARY = "summary.json"
"""Made from the tables, as often as wanted; it has a checksum of its own."""


def is_complete(folder: Path) -> bool:
    """Whether everything was edited."""
    return (folder / CHECKSUMS).exists()


def control_stem(name: str) -> str:
    """What the tables of a control's results begin with; nothing where the editor was told the request."""
    return f"control-{re.sub(r'[^a-z0-9]+', '-', name.lower())}-" if name else ""


def table_file(folder: Path, table: str, stem: str = "") -> Path:
    """Where a table of a stem lies."""
    return folder / f"{stem}{table}.parquet"


def read_table(path: Path, schema: pa.Schema) -> pa.Table:
    """A table from disk.

    Raises:
        InputError: the file is missing, damaged, or has other columns.
    """
    try:
        if pq.read_schema(path).names != schema.names:
            raise InputError(
                f"{path} has other columns than this version writes; edit again, under another --run"
            )
        return pq.read_table(path, schema=schema)
    except FileNotFoundError:
        raise InputError(f"{path} is missing; move its folder away and edit again") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path} is not readable ({error}); move its folder away and edit again") from None
