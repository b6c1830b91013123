"""Cases on disk: cases.parquet, one row a case, from which every metric can be computed (DESIGN 6, 8)."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus.errors import InputError
from corpus.files import staged_file
from lm.editors.interface import Info
from testbed.accuracy import Answers
from testbed.cases import ABSENT, CELLS, Case
from testbed.probes import LOGIC, Readings

_PAIR = ("before", "after")
_VECTORS = ("agent", "frequency", "lm", "lm_open")

_CELL = pa.struct(
    [
        ("name", pa.string()),
        ("subject", pa.int32()),
        ("relation", pa.int32()),
        ("objects", pa.list_(pa.int32())),
        *((f"{who}_{when}", pa.list_(pa.float64())) for who in _VECTORS for when in _PAIR),
        *((f"{who}_answer_{when}", pa.int32()) for who in ("agent", "lm") for when in _PAIR),
    ]
)
_LOGIC = pa.struct(
    [
        ("statement", pa.string()),
        *((f"{w}_{when}", pa.float64()) for when in _PAIR for w in ("true", "false")),
    ]
)
_SCALARS = [
    ("case", pa.int32()),
    ("subject", pa.int32()),
    ("relation", pa.int32()),
    ("object", pa.int32()),
    ("truth", pa.int32()),
    ("kind", pa.string()),
    ("reinforces", pa.bool_()),
    ("weight", pa.float64()),
    ("child", pa.bool_()),
    ("changes", pa.bool_()),
    ("support_new", pa.int32()),
    ("support_old", pa.int32()),
    ("stratum", pa.string()),
    ("seen_subject", pa.bool_()),
    ("seen_object", pa.bool_()),
    ("cluster", pa.int32()),
    ("position", pa.int32()),
    ("steps", pa.int32()),
    ("forward", pa.int32()),
    ("backward", pa.int32()),
    ("seconds", pa.float64()),
]
SCHEMA = pa.schema(
    [*_SCALARS, ("loss", pa.list_(pa.float32())), ("cells", pa.list_(_CELL)), ("logic", pa.list_(_LOGIC))]
)


class Outcomes(NamedTuple):
    """Scored cases as arrays: E cases, Q cells, C candidates (padded).

    Attributes:
        scalars: the scalar columns of cases.parquet by name, each [E]; cases of one `cluster` are not
            independent of each other (one subject, or one sequence of edits), and `position` counts
            the edits before this one in its sequence.
        objects: int64[E, Q, C], ABSENT as padding.
        agent, frequency, lm: float64[E, Q, 2, C], before and after; 0 as padding.
        lm_open: as lm, without the probability that the object ends there (Hase's definition).
        agent_answer, lm_answer: int64[E, Q, 2], the most probable or generated object; ABSENT if none.
        logic: float64[E, S, 2, 2], statement, before/after, true/false.
    """

    scalars: dict[str, np.ndarray]
    objects: np.ndarray
    agent: np.ndarray
    frequency: np.ndarray
    lm: np.ndarray
    lm_open: np.ndarray
    agent_answer: np.ndarray
    lm_answer: np.ndarray
    logic: np.ndarray


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


def clusters(outcomes: Outcomes) -> dict[str, np.ndarray]:
    """By level, int[E] that is equal for cases which depend on each other (see `testbed.statistics`).

    They share a subject, or a sequence of edits; the requested object; the world, where several were pooled
    (one run is one world). Subjects and objects of different worlds are different ones.
    """
    found = outcomes.scalars
    world = found.get("run", np.zeros_like(found["object"]))
    objects = np.unique(np.stack([world, found["object"]]), axis=1, return_inverse=True)[1].reshape(-1)
    unit = "sequence" if found["position"].any() else "subject"
    levels = {unit: found["cluster"], "object": objects}
    return levels | ({"world": world} if len(np.unique(world)) > 1 else {})


def case_rows(
    cases: Sequence[Case], before: Readings, after: Readings, how: Circumstances, answers: Answers
) -> list[dict]:
    """Rows of cases.parquet for some cases."""
    generated = [answers.read(np.asarray(x.tokens)) for x in (before, after)]
    rows = []
    for i, case in enumerate(cases):
        cells = []
        for q, cell in enumerate(case.cells):
            if cell is None:
                continue
            n = len(cell.candidates)
            entry = {
                "name": CELLS[q],
                "subject": cell.subject,
                "relation": cell.relation,
                "objects": cell.candidates,
            }
            for t, when in enumerate(_PAIR):
                entry |= {
                    f"agent_{when}": cell.agent[t],
                    f"frequency_{when}": cell.frequency[t],
                    f"lm_{when}": (before, after)[t].objects[i, q, :n],
                    f"lm_open_{when}": (before, after)[t].begun[i, q, :n],
                    f"agent_answer_{when}": int(cell.answer[t]),
                    f"lm_answer_{when}": int(generated[t][i, q]),
                }
            cells.append(entry)
        logic = [
            {"statement": name}
            | {f"{w}_{when}": r.logic[i, s, k] for r, when in zip((before, after), _PAIR, strict=True)
               for k, w in enumerate(("true", "false"))}
            for s, name in enumerate(LOGIC)
        ]  # fmt: skip
        known = {name: getattr(case, name) for name, _ in _SCALARS if hasattr(case, name)}
        rows.append(
            known
            | {name: getattr(how, name)[i] for name in ("case", "cluster", "position", "seconds")}
            | {name: getattr(how.info, name)[i] for name in ("steps", "forward", "backward", "loss")}
            | {"cells": cells, "logic": logic}
        )
    return rows


def write_rows(rows: Sequence[dict], path: Path) -> None:
    """Write rows as one Parquet file, whole or not at all."""
    with staged_file(path) as aside:
        pq.write_table(pa.Table.from_pylist(list(rows), schema=SCHEMA), aside)


def merge_parts(parts: Sequence[Path], path: Path) -> None:
    """Concatenate part files into one."""
    with staged_file(path) as aside:
        pq.write_table(pa.concat_tables([_read(p) for p in parts]), aside)


def _read(path: Path) -> pa.Table:
    try:
        if pq.read_schema(path).names != SCHEMA.names:
            raise InputError(f"{path} was written by another version; delete its folder and edit again")
        return pq.read_table(path, schema=SCHEMA)
    except FileNotFoundError:
        raise InputError(f"{path} is missing; run python -m testbed.edit first") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path} is not readable ({error}); delete it and edit again") from None


def read_outcomes(path: Path) -> Outcomes:
    """Read cases.parquet into arrays.

    Raises:
        InputError: the file is missing or no such table.
    """
    table = _read(path).combine_chunks()
    if not len(table):
        raise InputError(f"{path} holds no case; delete it and edit again")
    scalars = {name: table[name].to_numpy() for name, _ in _SCALARS}
    case, cells = _flat(table["cells"])
    place = pc.index_in(cells.field("name"), pa.array(CELLS)).to_numpy()
    which, at = _flat(cells.field("objects"))
    e, q, c = case[which], place[which], np.arange(len(which)) - np.searchsorted(which, which)
    shape = (len(table), len(CELLS), 2, int(c.max()) + 1)
    vectors = {who: np.zeros(shape) for who in _VECTORS}
    answers = {who: np.full(shape[:3], ABSENT) for who in ("agent", "lm")}
    objects = np.full((*shape[:2], shape[3]), ABSENT)
    objects[e, q, c] = at.to_numpy()
    for t, when in enumerate(_PAIR):
        for who, array in vectors.items():
            array[e, q, t, c] = _flat(cells.field(f"{who}_{when}"))[1].to_numpy()
        for who, array in answers.items():
            array[case, place, t] = cells.field(f"{who}_answer_{when}").to_numpy()
    _, statements = _flat(table["logic"])
    pairs = [[statements.field(f"{w}_{when}").to_numpy() for w in ("true", "false")] for when in _PAIR]
    logic = np.moveaxis(np.array(pairs), 2, 0).reshape(len(table), len(LOGIC), 2, 2)
    return Outcomes(
        scalars, objects, **vectors, agent_answer=answers["agent"], lm_answer=answers["lm"], logic=logic
    )


def _flat(lists: pa.ChunkedArray | pa.ListArray) -> tuple[np.ndarray, pa.Array]:
    """The items of all lists, end to end, and the number of the list that each is from."""
    whole = lists.combine_chunks() if isinstance(lists, pa.ChunkedArray) else lists
    return np.repeat(np.arange(len(whole)), pc.list_value_length(whole).to_numpy()), whole.flatten()
