"""Results on disk: a row a case, a row a choice and a row a claim, from which every metric can be computed.

    cases.parquet     the request, its facets, and what the edit took
    choices.parquet   probabilities of the options and answers, of agent, corpus and model
    claims.parquet    p(true) and p(false) of a sentence, and the agent's belief

Rows of one case have its number. Tables of one sweep lie in one folder; a stem before these names tells apart
its parts, what was asked again after later edits, and what controls were told. `cases` is written last: where
it is, the others are (DESIGN 6, 8).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus.errors import InputError
from corpus.files import staged_file
from lm.editors.interface import Info
from testbed.engine.probes import Readings
from testbed.protocol import ABSENT, BEFORE, Case, Facet
from testbed.run.object_names import ObjectNames

TABLES = ("choices", "claims", "cases")
"""In the order they are written."""
WHEN = ("before", "after")
_WORDS = ("true", "false")
_TYPES = {bool: pa.bool_(), int: pa.int32(), float: pa.float64(), str: pa.string()}
_VECTORS = ("agent", "frequency")
_MODEL = ("lm", "lm_open")

Rows = dict[str, list[dict]]
"""Table -> its rows."""


class Columns:
    """What an evaluation's tables hold.

    Args:
        readings: what the request is to the agent, once for each of its beliefs after the edit.
        facets: further columns of cases by name, and what they hold.
    """

    def __init__(self, readings: Sequence[str], facets: Mapping[str, type[Facet]]) -> None:
        self.times, self.facets = (BEFORE, *readings), dict(facets)

    @cached_property
    def schemas(self) -> dict[str, pa.Schema]:
        """Table -> its columns."""
        whole, real, text = pa.int32(), pa.float64(), pa.string()
        reals = pa.list_(real)
        cases = {
            **dict.fromkeys(("case", "subject", "relation", "object", "truth"), whole),
            "kind": text, "weight": real, "credence": real,
            **{name: _TYPES[kind] for name, kind in self.facets.items()},
            **dict.fromkeys(("cluster", "position", "steps", "forward", "backward"), whole),
            "seconds": real, "loss": pa.list_(pa.float32()),
        }  # fmt: skip
        asked = {"case": whole, "role": text, "group": text}
        choices = {
            **asked, "subject": whole, "relation": whole, "options": pa.list_(whole),
            **{f"{who}_{t}": reals for who in _VECTORS for t in self.times},
            **{f"agent_answer_{t}": whole for t in self.times},
            **{f"{who}_{w}": reals for who in _MODEL for w in WHEN},
            **{f"lm_answer_{w}": whole for w in WHEN},
        }  # fmt: skip
        claims = {
            **asked, "sentence": text,
            **{f"agent_{t}": real for t in self.times},
            **{f"{word}_{w}": real for w in WHEN for word in _WORDS},
        }  # fmt: skip
        named = {"cases": cases, "choices": choices, "claims": claims}
        return {name: pa.schema(list(columns.items())) for name, columns in named.items()}


class Choices(NamedTuple):
    """Choices as arrays: N of them, C options (padded), T times of the agent.

    Attributes:
        case: int64[N], the row of its case.
        role, group: str[N].
        subject, relation: int64[N].
        options: int64[N, C], ABSENT as padding.
        agent, frequency: float64[N, T, C]; 0 as padding.
        lm: float64[N, 2, C], before and after the edit.
        lm_open: as lm, without the probability that the object ends there (Hase's definition).
        agent_answer: int64[N, T], the agent's most probable object.
        lm_answer: int64[N, 2], what the model generates; ABSENT if that is no object.
    """

    case: np.ndarray
    role: np.ndarray
    group: np.ndarray
    subject: np.ndarray
    relation: np.ndarray
    options: np.ndarray
    agent: np.ndarray
    frequency: np.ndarray
    lm: np.ndarray
    lm_open: np.ndarray
    agent_answer: np.ndarray
    lm_answer: np.ndarray


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


@dataclass(frozen=True, eq=False)
class Results:
    """What one editor's edits came to: E cases with their questions.

    Attributes:
        cases: the columns of cases.parquet but for losses, each [E]; cases of one `cluster` depend on each
            other (one subject, or one sequence of edits), and `position` counts the edits before this one
            in its sequence.
        times: what the agent's T beliefs are: before, then one for each reading of the request.
    """

    cases: dict[str, np.ndarray]
    choices: Choices
    claims: Claims
    times: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.cases["case"])


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
    info: Info
    seconds: np.ndarray


def rows_of(
    cases: Sequence[Case],
    before: Readings,
    after: Readings,
    how: Circumstances,
    names: ObjectNames,
    columns: Columns,
) -> Rows:
    """The rows of some cases and of their questions."""
    generated = [names.read(np.asarray(x.tokens)) for x in (before, after)]
    rows: Rows = {table: [] for table in TABLES}
    for i, case in enumerate(cases):
        number = int(how.case[i])
        for q, choice in enumerate(case.choices):
            n = len(choice.options)
            row = {"case": number, "role": choice.role, "group": choice.group}
            row |= {"subject": choice.subject, "relation": choice.relation, "options": choice.options}
            for t, time in enumerate(columns.times):
                row |= {f"{who}_{time}": getattr(choice, who)[t] for who in _VECTORS}
                row[f"agent_answer_{time}"] = int(choice.answer[t])
            for w, when in enumerate(WHEN):
                seen = (before, after)[w]
                row[f"lm_{when}"] = seen.ended[i, q, :n]
                row[f"lm_open_{when}"] = seen.begun[i, q, :n]
                row[f"lm_answer_{when}"] = int(generated[w][i, q])
            rows["choices"].append(row)
        for q, claim in enumerate(case.claims):
            row = {"case": number, "role": claim.role, "group": claim.group}
            row["sentence"] = names.language.render(claim.sentence)
            row |= {f"agent_{time}": float(claim.agent[t]) for t, time in enumerate(columns.times)}
            for seen, when in zip((before, after), WHEN, strict=True):
                row |= {f"{word}_{when}": seen.claims[i, q, k] for k, word in enumerate(_WORDS)}
            rows["claims"].append(row)
        request = case.request
        rows["cases"].append(
            {"subject": request.subject, "relation": request.relation, "object": request.object,
             "truth": case.truth, "kind": request.kind, "weight": request.weight, "credence": case.credence}
            | {name: case.facets[name] for name in columns.facets}
            | {name: getattr(how, name)[i] for name in ("case", "cluster", "position", "seconds")}
            | {name: getattr(how.info, name)[i] for name in ("steps", "forward", "backward", "loss")}
        )  # fmt: skip
    return rows


def added(first: Rows, second: Rows) -> Rows:
    """The rows of both, in this order."""
    return {table: first[table] + second[table] for table in TABLES}


def write_rows(rows: Rows, folder: Path, columns: Columns, stem: str = "") -> None:
    """Write the tables of one stem, each file whole or not at all, `cases` last."""
    for table in TABLES:
        with staged_file(_file(folder, table, stem)) as aside:
            pq.write_table(pa.Table.from_pylist(rows[table], schema=columns.schemas[table]), aside)


def merge(stems: Sequence[str], parts: Path, folder: Path, columns: Columns, stem: str = "") -> None:
    """Put the tables of several stems of one folder into those of one stem of another."""
    for table in TABLES:
        pieces = [_read(_file(parts, table, part), columns.schemas[table]) for part in stems]
        with staged_file(_file(folder, table, stem)) as aside:
            pq.write_table(pa.concat_tables(pieces), aside)


def done(folder: Path, stem: str = "") -> bool:
    """Whether all tables of a stem are there."""
    return _file(folder, "cases", stem).exists()


def _file(folder: Path, table: str, stem: str) -> Path:
    return folder / f"{stem}{table}.parquet"


def _read(path: Path, schema: pa.Schema) -> pa.Table:
    try:
        if pq.read_schema(path).names != schema.names:
            raise InputError(
                f"{path} has other columns than this version writes; edit again, under another --run"
            )
        return pq.read_table(path, schema=schema)
    except FileNotFoundError:
        raise InputError(f"{path} is missing; run python -m testbed.edit first") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path} is not readable ({error}); move its folder away and edit again") from None


def read_results(folder: Path, columns: Columns, stem: str = "") -> Results:
    """Read the tables of one stem into arrays.

    Raises:
        InputError: a file is missing, damaged or empty, or a question is of no case.
    """
    table = {
        name: _read(_file(folder, name, stem), columns.schemas[name]).combine_chunks() for name in TABLES
    }
    path = _file(folder, "cases", stem)
    if not len(table["cases"]):
        raise InputError(f"{path} holds no case; move its folder away and edit again")
    cases = {
        name: table["cases"][name].to_numpy() for name in columns.schemas["cases"].names if name != "loss"
    }
    return Results(
        cases,
        _choices(table["choices"], _rows_of_cases(table["choices"], cases["case"], path), columns.times),
        _claims(table["claims"], _rows_of_cases(table["claims"], cases["case"], path), columns.times),
        columns.times,
    )


def _rows_of_cases(table: pa.Table, numbers: np.ndarray, path: Path) -> np.ndarray:
    """int64: for each question, the row of its case."""
    order = np.argsort(numbers, kind="stable")
    asked = table["case"].to_numpy()
    at = np.minimum(np.searchsorted(numbers[order], asked), len(numbers) - 1)
    if len(asked) and (numbers[order][at] != asked).any():
        raise InputError(f"{path} lacks cases that questions are of; move its folder away and edit again")
    return order[at]


def _choices(table: pa.Table, case: np.ndarray, times: Sequence[str]) -> Choices:
    which, at = _flat(table["options"])
    place = np.arange(len(which)) - np.searchsorted(which, which)
    width = int(place.max(initial=0)) + 1

    def vectors(names: Sequence[str]) -> np.ndarray:
        found = np.zeros((len(table), len(names), width))
        for t, name in enumerate(names):
            found[which, t, place] = _flat(table[name])[1].to_numpy()
        return found

    def answers(names: Sequence[str]) -> np.ndarray:
        return np.stack([table[name].to_numpy() for name in names], axis=1).astype(np.int64)

    options = np.full((len(table), width), ABSENT)
    options[which, place] = at.to_numpy()
    return Choices(
        case=case,
        role=_text(table["role"]),
        group=_text(table["group"]),
        subject=table["subject"].to_numpy().astype(np.int64),
        relation=table["relation"].to_numpy().astype(np.int64),
        options=options,
        agent=vectors([f"agent_{t}" for t in times]),
        frequency=vectors([f"frequency_{t}" for t in times]),
        lm=vectors([f"lm_{w}" for w in WHEN]),
        lm_open=vectors([f"lm_open_{w}" for w in WHEN]),
        agent_answer=answers([f"agent_answer_{t}" for t in times]),
        lm_answer=answers([f"lm_answer_{w}" for w in WHEN]),
    )


def _claims(table: pa.Table, case: np.ndarray, times: Sequence[str]) -> Claims:
    pairs = [[table[f"{word}_{when}"].to_numpy() for word in _WORDS] for when in WHEN]
    agent = np.stack([table[f"agent_{t}"].to_numpy() for t in times], axis=1)
    return Claims(
        case, _text(table["role"]), _text(table["group"]), agent, np.moveaxis(np.array(pairs), 2, 0)
    )


def _text(column: pa.ChunkedArray) -> np.ndarray:
    return np.array(column.to_pylist(), dtype=np.str_)


def _flat(lists: pa.ChunkedArray) -> tuple[np.ndarray, pa.Array]:
    """The items of all lists, end to end, and the number of the list that each is from."""
    whole = lists.combine_chunks()
    whole = pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
    return np.repeat(np.arange(len(whole)), pc.list_value_length(whole).to_numpy()), whole.flatten()
