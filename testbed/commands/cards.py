"""Scorecards that were handed in, made again from the answers beside them; nothing on a card is believed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus.errors import InputError
from corpus.files import read_json
from testbed.engine.file_exchange.contradictions import SLACK, Name, find_contradiction
from testbed.engine.records import TABLES, table_file
from testbed.engine.results import AFTER_AN_EDIT, Results, read_results
from testbed.engine.trace import CONFIG
from testbed.protocol import ABSENT
from testbed.scorecard import WorldResults, card_as_data, make_card, measure_editors
from testbed.scores.card_format import ANSWERS, Card
from testbed.scores.readers import columns_of
from testbed.scores.recalibration import recalibrate_results
from testbed.suite import Row

ENCODINGS = {"PLAIN", "RLE", "RLE_DICTIONARY", "PLAIN_DICTIONARY", "BIT_PACKED"}
"""As Arrow writes tables; of these the memory is known before texts are repeated."""
LARGEST = 1 << 30
"""Bytes of a table in memory."""
OF_AN_EDIT = {"seconds", "steps", "forward", "backward", "fault"}
"""Columns of cases that say how an edit went; all others say what was asked."""
SAME, ALIKE = 1e-4, 0.05
"""By so much numbers of the same model may differ, and the answers of one from another kind of processor, on
average, before any edit."""


class Standard(NamedTuple):
    """A world of the suite as it is here.

    Attributes:
        unedited: what the unedited model answers to the cases, and what the agent believes.
        temperatures: the file of those that recalibrate it.
        config: what these depend on, as the config.json of edits has it.
        weights: hash of the model's.
        names: token ids of an entity.
    """

    unedited: WorldResults
    temperatures: Path
    config: Mapping[str, Any]
    weights: str
    names: Callable[[int], Name]


class CheckedCard(NamedTuple):
    """A card, and what its answers come to.

    Attributes:
        made: the editor's numbers as scorecard.json has them.
        rows: what they are.
        is_native: whether the editor is this project's, by its version and the hash of its code.
        seconds: of an edit, by world.
    """

    folder: Path
    card: Card
    made: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    is_native: bool
    seconds: Mapping[str, float]


def remake_card(
    folder: Path, card: Card, rows: Sequence[Row], standards: Mapping[str, Standard]
) -> tuple[dict[str, Any], dict[str, float]]:
    """What answers come to, as scorecard.json has it; and by world the seconds of an edit.

    Raises:
        InputError: these are no answers to the suite's cases, or no model's; says which file or row.
    """
    results = list[WorldResults]()
    for world, standard in standards.items():
        answers = _read_answers(folder / ANSWERS / world, card, standard)
        results.append(
            standard.unedited._replace(results=recalibrate_results(answers, standard.temperatures))
        )
    seconds = {one.world: float(one.results.cases["seconds"].mean()) for one in results}
    return card_as_data(make_card(rows, measure_editors(rows, {card.examined: results}))), seconds


def _read_answers(folder: Path, card: Card, standard: Standard) -> Results:
    """Answers in one world.

    Raises:
        InputError: they are not answers to the world's cases, or no model's.
    """
    config, method = read_json(folder / CONFIG), card.methods[folder.name]
    said = {key: getattr(method, key) for key in ("editor", "settings", "version")}
    wrong = [key for key in ("settings", "versions") if config.get(key) != standard.config[key]]
    there = config.get("method")
    wrong += [] if isinstance(there, dict) and said.items() <= there.items() else ["method"]
    if wrong:
        raise InputError(f"{folder / CONFIG}, {wrong[0]}: not the suite's of this version, or the card's")
    ours = standard.unedited.results
    sizes: dict[str, Any] = {"choices": ours.choices, "claims": ours.claims, "passages": ours.passages}
    rows = {name: len(table.case) for name, table in sizes.items()} | {"cases": len(ours)}
    try:
        for table in TABLES:
            check_table_size(table_file(folder, table), rows[table])
        results = read_results(folder, columns_of(standard.unedited.evaluation), may_be_silent=True)
        differ = list(find_differences(results, ours))
        near = card.worlds[folder.name].weights == standard.weights
        gap = float(np.abs(results.choices.lm[:, 0] - ours.choices.lm[:, 0]).mean())
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, pa.ArrowException) as error:
        raise InputError(f"{folder}: no tables of answers to this world's cases ({error})") from None
    if differ:
        raise InputError(f"{folder}: other {', '.join(differ[:3])} than the world's cases have")
    if gap > (SAME if near else ALIKE):
        raise InputError(
            f"{folder}: before any edit its model answers otherwise than the suite's, by {gap:.2g}"
        )
    if why := find_impossible(results, standard.names):
        raise InputError(f"{folder}: {why}")
    return results


def find_differences(theirs: Results, ours: Results) -> Iterator[str]:
    """What was asked, or is believed, otherwise than it is here, by the names of columns."""
    for name in ours.cases.keys() - OF_AN_EDIT:
        if not _equal(theirs.cases[name], ours.cases[name]):
            yield f"cases.{name}"
    for table in ("choices", "claims", "passages"):
        one, other = getattr(theirs, table)._asdict(), getattr(ours, table)._asdict()
        facets = other.pop("facets", {})
        for name in other.keys() - AFTER_AN_EDIT:
            if not _equal(one[name], other[name]):
                yield f"{table}.{name}"
        for name, column in facets.items():
            if not _equal(one["facets"][name], column):
                yield f"{table}.{name}"


def _equal(first: np.ndarray, second: np.ndarray) -> bool:
    if first.shape != second.shape:
        return False
    if first.dtype.kind == "f":
        return bool(np.allclose(first, second, rtol=0, atol=1e-6, equal_nan=True))
    if first.dtype.kind == "O":
        return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    return bool(np.array_equal(first, second))


def find_impossible(results: Results, names: Callable[[int], Name]) -> str:
    """The first question whose answer after the edit no model gives, and why; empty where all can be."""
    choices, claims = results.choices, results.claims
    lost = np.zeros(len(results), bool) if results.lost is None else results.lost
    for which, values in (("choices", choices.lm), ("choices", choices.lm_open), ("claims", claims.lm)):
        if ((values < 0) | (values > 1 + SLACK)).any():
            return f"{which} have probabilities that are none"
    seconds = results.cases["seconds"]
    if not ((seconds >= 0) & (seconds < 1e9)).all():
        return "cases have seconds that are none"
    if (claims.lm.sum(-1) > 1 + SLACK).any():
        return "p(true) and p(false) of a claim sum to more than 1"
    for row in np.flatnonzero(~lost[choices.case]).tolist():
        options = choices.options[row]
        there = options != ABSENT
        answer = int(choices.lm_answer[row, 1])
        spoken = None if answer == ABSENT else names(answer)
        probabilities = choices.lm[row, 1, there], choices.lm_open[row, 1, there]
        if why := find_contradiction([*map(names, options[there].tolist())], *probabilities, spoken):
            return f"choices.parquet, row {row + 1}: {why}"
    return ""


def identify_editor(card: Card) -> tuple[Any, ...]:
    """Who was examined, as it is the same on the suite and on its twin."""
    methods = [
        (world, of.editor, of.version, {key: value for key, value in of.settings.items() if key != "answers"})
        for world, of in sorted(card.methods.items())
    ]
    return card.examined, card.code, methods


def check_table_size(path: Path, rows: int) -> None:
    """See that a table has so many rows, and that all its values find room in memory.

    A few bytes on disk may stand for gigabytes.

    Raises:
        InputError: it has not, or they do not.
    """
    held = pq.read_metadata(path)
    groups = map(held.row_group, range(held.num_row_groups))
    chunks = [group.column(i) for group in groups for i in range(held.num_columns)]
    size = sum(8 * chunk.num_values + chunk.total_uncompressed_size for chunk in chunks)
    if held.num_rows != rows:
        raise InputError(f"{path} has {held.num_rows:,} rows, where the world's cases ask for {rows:,}")
    if others := sorted({how for chunk in chunks for how in chunk.encodings} - ENCODINGS):
        raise InputError(f"{path} is packed as {others[0]}; write it as the testbed does")
    if size <= LARGEST:
        texts = sorted({chunk.path_in_schema for chunk in chunks if chunk.physical_type == "BYTE_ARRAY"})
        table = pq.read_table(path, read_dictionary=texts)
        size += sum(_count_text(part) for column in table.columns for part in column.chunks)
    if size > LARGEST:
        raise InputError(f"{path} takes more than {LARGEST:,} bytes of memory")


def _count_text(array: pa.Array) -> int:
    """Bytes of all texts, each as often as it stands there; within lists and structures too."""
    if isinstance(array, pa.ListArray):
        return _count_text(array.flatten())
    if isinstance(array, pa.StructArray):
        return sum(map(_count_text, array.flatten()))
    if isinstance(array, pa.DictionaryArray):
        return pc.sum(pc.binary_length(array.dictionary).take(array.indices)).as_py() or 0
    return 0
