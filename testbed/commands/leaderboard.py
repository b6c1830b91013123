"""A leaderboard of what was handed in: each card is made again; what does not fit is left out and named."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from corpus.errors import InputError
from corpus.files import CHECKSUMS, list_sealed, read_json, require_unchanged, verify_folder
from testbed.cells import escape_controls
from testbed.commands import examine
from testbed.commands.cards import ALIKE, SAME, CheckedCard, Standard, identify_editor, remake_card
from testbed.console import say
from testbed.engine.catalogue import editor_entries, find_namesake
from testbed.engine.records import TABLES, table_file
from testbed.engine.trace import CONFIG, read_config
from testbed.engine.versions import hash_native
from testbed.pages.leaderboard import DATA, PAGE, Entry, write_leaderboard
from testbed.reference_answers import read_references
from testbed.run.agents import describe_standard
from testbed.run.strict_json import read_document
from testbed.scorecard import UNEDITED, card_as_data, describe_rows, make_card
from testbed.scores.card_format import (
    ANSWERS,
    BOUND,
    CARD,
    Card,
    CardEditor,
    CardRow,
    count_by_kind,
    standing_key,
    verdict_of,
)
from testbed.scores.gather import flatten_settings
from testbed.suite import FOLDER, LATEST, Row, Suite, SuiteWorld, list_suites

LONGEST_SETTINGS = 500
"""Characters of an editor's settings on the page."""


LARGEST = 1 << 32
"""Bytes of a handed-in folder."""


def write_board(folder: Path, runs: Path) -> None:
    """Check every card of a folder, write the page of those that hold, and name the others.

    A folder that is empty gets the references of the latest suite alone.

    Raises:
        InputError: there is no such folder, it has no card but something else, or none holds.
    """
    paths = sorted(path.parent for path in folder.glob(f"[!.]*/{CARD}"))
    is_bare = folder.is_dir() and {path.name for path in folder.iterdir()} <= {PAGE, DATA}
    if not paths and not is_bare:
        raise InputError(f"{folder} has no folder with a {CARD}; python -m testbed.examine EDITOR makes one")
    referee, cards, left_out = Referee(runs), list[CheckedCard](), list[str]()
    for path in paths:
        try:
            cards.append(referee.check(path, may_be_twin=False))
        except (InputError, OSError) as error:
            left_out.append(f"{path.name} is left out: {error!s:.1000}")
    name = next((one for one in (LATEST, *list_suites()) if one in {of.card.suite for of in cards}), LATEST)
    left_out += [
        f"{one.folder.name} is left out: it is of the suite {one.card.suite}, and this page of {name}"
        for one in cards
        if one.card.suite != name
    ]
    cards = [one for one in cards if one.card.suite == name]
    left_out = [*map(escape_controls, left_out)]
    for line in left_out:
        say(line)
    if paths and not cards:
        raise InputError(f"no {CARD} of {folder} holds; see above")
    suite = examine.find_suite(name, runs)
    references = reference_numbers(suite)
    marks = {
        one.folder.name: {
            "private twin": referee.ask_twin(one),
            "references": _describe_other_references(one.card, references),
            "same numbers": ", ".join(
                other.folder.name
                for other in cards
                if other is not one and other.made["numbers"] == one.made["numbers"]
            ),
        }
        for one in cards
    }
    rows = max((one.rows for one in cards), key=len, default=describe_rows(suite.rows))
    entries = list_entries(cards, references, marks, referee.judges, rows)
    page = write_leaderboard(folder, name, examine.card_title(suite), rows, entries, left_out)
    say(f"leaderboard: {page.resolve()}")


def list_entries(
    cards: Sequence[CheckedCard],
    references: Sequence[Mapping[str, Any]],
    marks: Mapping[str, Mapping[str, str]],
    judges: str,
    rows: Sequence[Mapping[str, Any]],
) -> list[Entry]:
    """The editors of a leaderboard, as they stand: those examined, and the references of the frozen suite.

    Args:
        marks: by folder, what the private twin says, and how its references differ.
        judges: by whom edits are judged.
        rows: of the page, as cards have them.
    """
    examined = [one.card.examined for one in cards]
    shown = [one["editor"] for one in references]
    shown = [name for name in shown if not any(one.is_native and one.card.examined == name for one in cards)]
    entries, known = [], editor_entries()
    kinds = {row["row"]: row["kind"] for row in rows}
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


def reference_numbers(suite: Suite) -> list[dict[str, Any]]:
    """The references' numbers as cards have them: made of their answers, or as they were frozen without."""
    measured, _ = read_references(suite)
    if measured:
        return card_as_data(make_card(suite.rows, measured))["editors"]
    frozen = FOLDER / f"{suite.name}.json"
    return read_json(frozen)["editors"] if frozen.exists() else []


class Referee:
    """Who checks cards: has the worlds of the suite, made where they are missing, each once.

    Args:
        runs: folder of all runs.

    Attributes:
        judges: by whom edits were judged so far, in words.
    """

    def __init__(self, runs: Path) -> None:
        self.runs, self._standards = runs, dict[tuple[str, str], Standard]()

    @property
    def judges(self) -> str:
        """By world of the frozen suite, the agent, and how exact it is."""
        found: dict[str, list[str]] = {}
        for (suite, world), standard in self._standards.items():
            of = standard.config["standard"]
            if not suite.endswith(examine.TWIN):
                found.setdefault(describe_standard(of["agent"], of["exactness"]), []).append(world)
        return "; ".join(f"{who} ({', '.join(worlds)})" for who, worlds in found.items())

    def check(self, folder: Path, may_be_twin: bool = True) -> CheckedCard:
        """A card made again from its answers.

        Args:
            may_be_twin: whether it may be of a suite's private twin.

        Raises:
            InputError: it does not hold.
        """
        sealed = (folder / name for name in (CHECKSUMS, *list_sealed(folder)))
        with require_unchanged(*(path for path in sealed if path.is_file())):
            return self._check_unchanged(folder, may_be_twin)

    def _check_unchanged(self, folder: Path, may_be_twin: bool) -> CheckedCard:
        card = check_seal(folder)
        name, is_twin = card.suite.removesuffix(examine.TWIN), card.suite.endswith(examine.TWIN)
        if name not in list_suites() or (is_twin and not may_be_twin):
            raise InputError(
                f"{folder / CARD}, suite: {card.suite}, and this version has {', '.join(list_suites())}"
            )
        if is_twin and not (self.runs / examine.TWIN_SECRET).exists():
            raise InputError(f"{folder} is of a private twin whose secret does not lie in {self.runs}")
        suite = examine.find_suite(name, self.runs, is_twin)
        worlds = {world.name: world for world in suite.worlds}
        answered = _check_frame(folder, card, suite, examine.card_title(suite))
        for world, of in card.worlds.items():
            frozen = worlds[world].frozen
            unlike = [key for key in BOUND if getattr(of, key) != frozen.get(key)]
            unlike += examine.unlike_settings(frozen.get("settings", {}), of.settings)
            if of.weights == frozen.get("weights") and of.accuracy != frozen["accuracy"]:
                unlike.append("accuracy")
            if unlike:
                raise InputError(f"{folder / CARD}, worlds: {world} is not the suite's ({', '.join(unlike)})")
        for world in answered:
            if (card.suite, world) not in self._standards:
                self._standards[card.suite, world] = open_standard(worlds[world])
        standards = {world: self._standards[card.suite, world] for world in answered}
        return _check_card(folder, card, suite.rows, standards)

    def ask_twin(self, one: CheckedCard) -> str:
        """What the private twin says of a card, in words; empty where the editor was not examined on it."""
        twin = one.folder.parent.with_name(f"{one.folder.parent.resolve().name}-twin") / one.folder.name
        if not (twin / CARD).exists():
            return ""
        try:
            checked = self.check(twin)
        except (InputError, OSError) as error:
            return f"its card does not hold ({error})"
        if checked.card.suite != f"{one.card.suite}{examine.TWIN}":
            return f"its card is of the suite {checked.card.suite}"
        if identify_editor(checked.card) != identify_editor(one.card):
            return "its card is of another editor, or of other settings"
        unborne = find_unborne(one, checked)
        return f"does not bear out {', '.join(unborne)}" if unborne else "bears it out"


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


def _check_card(
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
    found = {one.editor: _find_contradictory_verdict(one, better) for one in card.editors}
    for one in made["editors"]:
        name = one["editor"]
        found[name] = found[name] or _find_unlike(said[name], one, SAME if is_same else ALIKE)
    for name, why in found.items():
        if why:
            raise InputError(f"{folder / CARD}, editors, {name}: {why}")
    return CheckedCard(folder, card, own, made["rows"], _is_native(card), seconds)


def _is_native(card: Card) -> bool:
    """Whether the editor is this project's: its name, version and code in every world."""
    entry = editor_entries().get(card.examined)
    return entry is not None and all(
        (method.editor, method.version, method.elsewhere, card.code)
        == (card.examined, entry.version, False, hash_native(card.examined))
        for method in card.methods.values()
    )


def _find_contradictory_verdict(said: CardEditor, better: Mapping[str, str]) -> str:
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


def _find_unlike(said: CardEditor, made: Mapping[str, Any], slack: float) -> str:
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


def _describe_other_references(card: Card, known: Sequence[Mapping[str, Any]]) -> str:
    """Which references on a card have other numbers than the frozen suite's, in words; none counts."""
    there = {one.editor: one for one in card.editors}
    unlike = [
        one["editor"]
        for one in known
        if one["editor"] not in there or _find_unlike(there[one["editor"]], one, ALIKE)
    ]
    return f"its own are not the suite's: {', '.join(unlike)}" if unlike else ""


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


def _reaches(twin: Mapping[str, Any] | None, own: Mapping[str, Any], better: str) -> bool:
    over = twin["over no edit"] if twin else None
    if over is None or over["low"] is None or over["high"] is None:
        return False
    return over["high"] >= own["low"] if better == "high" else over["low"] <= own["high"]


def _check_frame(folder: Path, card: Card, suite: Suite, title: str) -> list[str]:
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


def open_standard(world: SuiteWorld) -> Standard:
    """A world of the suite with the unedited model's answers to all cases; made where it is missing.

    Raises:
        InputError: this machine makes another world.
    """
    judged, digests = examine.prepare_world(world)
    jobs = examine.edit_by_one(replace(world.edits, editors=(UNEDITED,)), judged)

    @cache
    def find_tokens(entity: int) -> tuple[int, ...]:
        return tuple(jobs.world.tokenizer.entity(entity).tolist())

    config = read_config(jobs.jobs[0].folder)
    return Standard(
        examine.read_world(world, jobs), jobs.temperatures, config, digests["weights"], find_tokens
    )
