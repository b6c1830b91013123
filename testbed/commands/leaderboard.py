"""A leaderboard of what was handed in: each card is made again; what does not fit is left out and named."""

from dataclasses import replace
from functools import cache
from pathlib import Path

from corpus.errors import InputError
from corpus.files import CHECKSUMS, list_sealed, require_unchanged
from testbed.cells import escape_controls
from testbed.commands import examine
from testbed.commands.cards import (
    CheckedCard,
    Standard,
    check_card,
    check_frame,
    check_seal,
    describe_other_references,
    find_unborne,
    identify_editor,
    list_entries,
)
from testbed.console import say
from testbed.engine.trace import read_config
from testbed.pages.leaderboard import write_leaderboard
from testbed.reference_answers import reference_numbers
from testbed.run.agents import describe_standard
from testbed.scorecard import UNEDITED
from testbed.scores.card_format import BOUND, CARD
from testbed.suite import SuiteWorld, list_suites


def verify_card(folder: Path, runs: Path) -> None:
    """Make the card of a handed-in folder again, and print what it comes to.

    Raises:
        InputError: it is not what its answers come to; says where.
    """
    one = Referee(runs).check(folder)
    kind = "this project's editor" if one.is_native else "a guest"
    better, worse = (one.made[f"rows surely {key}"] for key in ("better", "worse"))
    name, counts = one.card.examined, f"{better} rows surely better and {worse} surely worse than no edit"
    say(f"{folder} holds: {name}, {kind}, {counts}")


def write_board(folder: Path, runs: Path) -> None:
    """Check every card of a folder, write the page of those that hold, and name the others.

    Raises:
        InputError: there is no card, or none holds.
    """
    paths = sorted(path.parent for path in folder.glob(f"[!.]*/{CARD}"))
    if not paths:
        raise InputError(f"{folder} has no folder with a {CARD}; python -m testbed.examine EDITOR makes one")
    referee, cards, left_out = Referee(runs), list[CheckedCard](), list[str]()
    for path in paths:
        try:
            cards.append(referee.check(path, may_be_twin=False))
        except (InputError, OSError) as error:
            left_out.append(f"{path.name} is left out: {error!s:.1000}")
    name = next((name for name in list_suites() if name in {one.card.suite for one in cards}), "")
    left_out += [
        f"{one.folder.name} is left out: it is of the suite {one.card.suite}, and this page of {name}"
        for one in cards
        if one.card.suite != name
    ]
    cards = [one for one in cards if one.card.suite == name]
    left_out = [*map(escape_controls, left_out)]
    for line in left_out:
        say(line)
    if not cards:
        raise InputError(f"no {CARD} of {folder} holds; see above")
    suite = examine.find_suite(name, runs)
    references = reference_numbers(suite)
    marks = {
        one.folder.name: {
            "private twin": referee.ask_twin(one),
            "references": describe_other_references(one.card, references),
            "same numbers": ", ".join(
                other.folder.name
                for other in cards
                if other is not one and other.made["numbers"] == one.made["numbers"]
            ),
        }
        for one in cards
    }
    entries = list_entries(cards, references, marks, referee.judges)
    rows = max((one.rows for one in cards), key=len)
    page = write_leaderboard(folder, name, examine.card_title(suite), rows, entries, left_out)
    say(f"leaderboard: {page.resolve()}")


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
        answered = check_frame(folder, card, suite, examine.card_title(suite))
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
        return check_card(folder, card, suite.rows, standards)

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
