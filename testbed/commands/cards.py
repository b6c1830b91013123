"""Scorecards that were handed in, made again from the answers beside them; nothing on a card is believed."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from msgspec import to_builtins

from corpus.errors import InputError
from corpus.files import CHECKSUMS, list_sealed, read_json, verify_folder
from testbed.engine.catalogue import editor_entries, find_namesake
from testbed.engine.file_exchange.contradictions import SLACK, Name, find_contradiction
from testbed.engine.records import TABLES, table_file
from testbed.engine.results import AFTER_AN_EDIT, Results, read_results
from testbed.engine.table_size import check_table_size
from testbed.engine.trace import CONFIG
from testbed.engine.versions import hash_native
from testbed.pages.leaderboard import Entry
from testbed.protocol import ABSENT
from testbed.run.strict_json import read_document
from testbed.scorecard import UNEDITED, WorldResults, card_as_data, make_card, measure_editors
from testbed.scores.card_format import (
    ANSWERS,
    CARD,
    Card,
    CardEditor,
    CardRow,
    count_by_kind,
    standing_key,
    verdict_of,
)
from testbed.scores.gather import flatten_settings
from testbed.scores.readers import columns_of
from testbed.scores.recalibration import recalibrate_results
from testbed.suite import Row, Suite

OF_AN_EDIT = {"seconds", "steps", "forward", "backward", "fault"}
"""Columns of cases that say how an edit went; all others say what was asked."""
SAME, ALIKE = 1e-4, 0.05
"""By so much numbers of the same model may differ, and the answers of one from another kind of processor, on
average, before any edit."""


LARGEST = 1 << 32
"""Bytes of a handed-in folder."""
LONGEST_SETTINGS = 500
"""Characters of an editor's settings on the page."""


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


def check_seal(folder: Path) -> Card:
    """Read the card of a folder whose files are as they were sealed.

    Raises:
        InputError: one is not, or the card does not fit its schema.
    """
    size = sum(path.stat().st_size for name in list_sealed(folder) if (path := folder / name).is_file())
    if size > LARGEST:
        raise InputError(f"{folder} has {size:,} bytes of files, and may have {LARGEST:,}")
    verify_folder(folder)
    card = read_document(folder / CARD, Card)
    files = (CONFIG, *(table_file(Path(), table).name for table in TABLES))
    needed = [CARD, *(f"{ANSWERS}/{world}/{name}" for world in card.methods for name in files)]
    if unsealed := sorted({*needed} - {*list_sealed(folder)}):
        raise InputError(f"{folder / CHECKSUMS} does not name {unsealed[0]}, so nobody sealed it")
    known = find_namesake(card.examined)
    if known not in ("", card.examined):
        raise InputError(f"{folder / CARD}, examined: {card.examined} looks like our editor {known}")
    return card


def check_card(
    folder: Path, card: Card, rows: Sequence[Row], standards: Mapping[str, Standard]
) -> CheckedCard:
    """Make a card again from its answers, which are held against the suite's cases and its unedited model.

    Args:
        rows: of the suite.
        standards: by world, those that the card should have answers to.

    Raises:
        InputError: as `remake_card`, or it says something else.
    """
    made, seconds = remake_card(folder, card, rows, standards)
    own = next(one for one in made["editors"] if one["editor"] == card.examined)
    is_same = all(card.worlds[world].weights == standard.weights for world, standard in standards.items())
    better, said = {row.name: row.better for row in rows}, {one.editor: one for one in card.editors}
    found = {one.editor: find_contradictory_verdict(one, better) for one in card.editors}
    for one in made["editors"]:
        name = one["editor"]
        found[name] = found[name] or find_unlike(said[name], one, SAME if is_same else ALIKE)
    for name, why in found.items():
        if why:
            raise InputError(f"{folder / CARD}, editors, {name}: {why}")
    return CheckedCard(folder, card, own, made["rows"], _is_native(card), seconds)


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


def _is_native(card: Card) -> bool:
    """Whether the editor is this project's: its name, version and code in every world."""
    entry = editor_entries().get(card.examined)
    return entry is not None and all(
        (method.editor, method.version, method.elsewhere, card.code)
        == (card.examined, entry.version, False, hash_native(card.examined))
        for method in card.methods.values()
    )


def find_contradictory_verdict(said: CardEditor, better: Mapping[str, str]) -> str:
    """Where a verdict does not follow from its interval, or a count from verdicts; empty where all do."""
    for row, number in said.numbers.items():
        low, high = number.over.low, number.over.high
        verdict = verdict_of(low, high, better.get(row, ""))
        # One that begins at 0 as it is rounded may be sure.
        if number.over.verdict != verdict and 0 not in (low, high):
            return f"numbers.{row}: {number.over.verdict}, where the interval says {verdict}"
    for verdict, count in (("better", said.better), ("worse", said.worse)):
        if count != (by := sum(one.over.verdict == verdict for one in said.numbers.values())):
            return f"rows surely {verdict} is {count}, and by its verdicts {by}"
    return ""


def find_unlike(said: CardEditor, made: Mapping[str, Any], slack: float) -> str:
    """Where a card says something else of an editor than its answers come to, in words; empty where nowhere.

    What follows from numbers (counts and verdicts) is compared where these are of the same model.
    """
    there, own = (flatten_settings(dict(one)) for one in (to_builtins(said), made))
    for key in dict.fromkeys([*own, *there]):
        value, other = own.get(key, "nothing"), there.get(key, "nothing")
        is_number = isinstance(value, float | None)
        near = is_number and isinstance(other, float) and isinstance(value, float)
        same = math.isclose(other, value, rel_tol=slack, abs_tol=slack) if near else other == value
        if not same and (is_number or "nothing" in (value, other) or slack == SAME):
            return f"{key} is {other}, and by the answers {value}"
    return ""


def describe_other_references(card: Card, known: Sequence[Mapping[str, Any]]) -> str:
    """Which references on a card have other numbers than the frozen suite's, in words; none counts."""
    there = {one.editor: one for one in card.editors}
    unlike = [
        one["editor"]
        for one in known
        if one["editor"] not in there or find_unlike(there[one["editor"]], one, ALIKE)
    ]
    return f"its own are not the suite's: {', '.join(unlike)}" if unlike else ""


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


def find_unborne(card: CheckedCard, twin: CheckedCard) -> list[str]:
    """The rows in which an editor is surely better on the suite, and its private twin does not bear that out.

    It bears a row out where the difference from no edit on the twin is as good, up to both intervals.
    """
    better = {row["row"]: row["better"] for row in card.rows}
    return [
        row
        for row, number in card.made["numbers"].items()
        if number["over no edit"]["verdict"] == "better"
        and not _reaches(twin.made["numbers"].get(row), number["over no edit"], better[row])
    ]


def identify_editor(card: Card) -> tuple[Any, ...]:
    """Who was examined, as it is the same on the suite and on its twin."""
    methods = [
        (world, of.editor, of.version, {key: value for key, value in of.settings.items() if key != "answers"})
        for world, of in sorted(card.methods.items())
    ]
    return card.examined, card.code, methods


def _reaches(twin: Mapping[str, Any] | None, own: Mapping[str, Any], better: str) -> bool:
    over = twin["over no edit"] if twin else None
    if over is None or over["low"] is None or over["high"] is None:
        return False
    return over["high"] >= own["low"] if better == "high" else over["low"] <= own["high"]


def check_frame(folder: Path, card: Card, suite: Suite, title: str) -> list[str]:
    """See that worlds, rows, editors and title of a card are the suite's; the worlds that it has answers to.

    These are all of the suite, but for texts where answers came as files.

    Raises:
        InputError: it has others.
    """
    elsewhere = all(method.elsewhere for method in card.methods.values())
    answered = [world.name for world in suite.worlds if not (elsewhere and world.asks_texts)]
    named = [one.editor for one in card.editors]
    known = [name for name in (UNEDITED, *suite.references) if name in named and name != card.examined]
    scored = {row for one in card.editors for row in one.numbers}
    rows = {row.name: row for row in suite.rows}

    def describe_row(name: str, of: Row | CardRow) -> str:
        return " | ".join((name, of.says, of.metric, of.better, *of.worlds))

    frame = {
        "worlds": (list(card.worlds), [world.name for world in suite.worlds]),
        "methods": (list(card.methods), answered),
        "editors": (named, {*known, UNEDITED, card.examined}),
        "title": ([card.title], [title]),
        "numbers": (scored, scored & rows.keys()),
        "rows": (
            [describe_row(one.row, one) for one in card.rows],
            [describe_row(name, row) for name, row in rows.items() if name in scored],
        ),
    }
    for key, (there, wanted) in frame.items():
        if sorted(there) != sorted(wanted):
            said, suites = (", ".join(sorted(names)) for names in (there, wanted))
            raise InputError(f"{folder / CARD}, {key}: {said:.200}, where the suite has {suites:.200}")
    return answered


def list_entries(
    cards: Sequence[CheckedCard],
    references: Sequence[Mapping[str, Any]],
    marks: Mapping[str, Mapping[str, str]],
    judges: str,
) -> list[Entry]:
    """The editors of a leaderboard, as they stand: those examined, and the references of the frozen suite.

    Args:
        marks: by folder, what the private twin says, and how its references differ.
        judges: by whom edits are judged.
    """
    examined = [one.card.examined for one in cards]
    shown = [one["editor"] for one in references]
    shown = [name for name in shown if not any(one.is_native and one.card.examined == name for one in cards)]
    entries, known = [], editor_entries()
    kinds = {row["row"]: row["kind"] for one in cards for row in one.rows}
    for reference in references:
        if reference["editor"] in shown:
            about = {"origin": "reference", "what it changes": known[reference["editor"]].about}
            entries.append(_make_entry(reference["editor"], reference, kinds, about))
    for one in cards:
        name, folder = one.card.examined, one.folder.name
        settings = {world: _list_settings(method.settings) for world, method in one.card.methods.items()}
        by_world = "; ".join(f"{world}: {says or 'none'}" for world, says in settings.items())
        origin = ", ".join(sorted({method.editor for method in one.card.methods.values()}))
        made, kind = one.card.made_with, "native" if one.is_native else "guest"
        seconds = one.seconds.values()
        about = {
            "origin": f"{kind}: {origin}",
            "settings": by_world if len({*settings.values()}) > 1 else next(iter(settings.values())),
            "judged by": judges,
            "seconds an edit": f"{min(seconds):.2g} to {max(seconds):.2g}",
            "revision": made.get("revision", ""),
            "processor": made.get("device", ""),
            "date": f"{one.card.date}",
            **marks.get(folder, {}),
        }
        is_plain = (one.is_native or name not in known) and [*shown, *examined].count(name) == 1
        label = name if is_plain else f"{name} ({folder})"
        explorer = f"{folder}/explorer/index.html"
        has_explorer = (one.folder / "explorer" / "index.html").exists()
        entries.append(_make_entry(label, one.made, kinds, about, folder, explorer if has_explorer else ""))
    return sorted(entries, key=lambda entry: standing_key(entry.name, entry.counts))


def _list_settings(settings: Mapping[str, Any]) -> str:
    """The settings of an editor in one world, in words."""
    leaves = flatten_settings(dict(settings))
    words = ", ".join(f"{key.rpartition('.')[2].replace('_', ' ')} {value}" for key, value in leaves.items())
    return words if len(words) <= LONGEST_SETTINGS else f"{words[:LONGEST_SETTINGS]}..."


def _make_entry(
    name: str,
    made: Mapping[str, Any],
    kinds: Mapping[str, str],
    about: Mapping[str, str],
    folder: str = "",
    explorer: str = "",
) -> Entry:
    numbers = made["numbers"]
    verdicts = {row: number["over no edit"]["verdict"] for row, number in numbers.items()}
    return Entry(name, folder, numbers, count_by_kind(kinds, verdicts), about, explorer)
