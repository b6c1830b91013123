"""A leaderboard of what was handed in: each card is made again; what does not fit is left out and named."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from corpus.errors import InputError
from corpus.files import read_json
from testbed.commands import examine
from testbed.commands.cards import (
    CheckedCard,
    Standard,
    check_card,
    check_seal,
    describe_other_references,
    find_unborne,
    list_entries,
    select_worlds,
)
from testbed.console import say
from testbed.engine.trace import read_config
from testbed.pages.leaderboard import write_leaderboard
from testbed.run.agents import describe_standard
from testbed.scorecard import UNEDITED
from testbed.scores.card_format import BOUND, CARD
from testbed.suite import QUICK, SUITE, SuiteWorld


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
    paths = sorted(path.parent for path in folder.glob(f"*/{CARD}"))
    if not paths:
        raise InputError(f"{folder} has no folder with a {CARD}; python -m testbed.examine EDITOR makes one")
    referee, cards, left_out = Referee(runs), list[CheckedCard](), list[str]()
    for path in paths:
        try:
            cards.append(referee.check(path))
        except (InputError, OSError) as error:
            left_out.append(f"{path.name} is left out: {error}")
    quick = all(QUICK in one.card.worlds for one in cards)
    left_out += [
        f"{one.folder.name} is left out: a quick look is not to be compared"
        for one in cards
        if not quick and QUICK in one.card.worlds
    ]
    cards = [one for one in cards if quick == (QUICK in one.card.worlds)]
    for line in left_out:
        say(line)
    if not cards:
        raise InputError(f"no {CARD} of {folder} holds; see above")
    worlds, _ = examine.find_suite(runs, quick, twin=False)
    references = referee.list_references(quick)
    marks = {
        one.folder.name: {
            "private twin": referee.ask_twin(one),
            "references": describe_other_references(one.card, references),
        }
        for one in cards
    }
    entries = list_entries(cards, references, marks, referee.judges)
    rows = max((one.rows for one in cards), key=len)
    page = write_leaderboard(folder, SUITE, examine.card_title(quick, worlds), rows, entries, left_out)
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
            if suite == SUITE:
                found.setdefault(describe_standard(of["agent"], of["exactness"]), []).append(world)
        return "; ".join(f"{who} ({', '.join(worlds)})" for who, worlds in found.items())

    def check(self, folder: Path) -> CheckedCard:
        """A card made again from its answers.

        Raises:
            InputError: it does not hold.
        """
        card, twin = check_seal(folder), False
        if card.suite not in (SUITE, examine.TWIN):
            raise InputError(f"{folder / CARD}, suite: {card.suite}, and this version has {SUITE}")
        twin, quick = card.suite == examine.TWIN, card.worlds.keys() == {QUICK}
        if twin and not (self.runs / examine.TWIN_SECRET).exists():
            raise InputError(f"{folder} is of a private twin whose secret does not lie in {self.runs}")
        worlds, known = examine.find_suite(self.runs, quick, twin)
        by_name = {world.name: world for world in worlds}
        answered = select_worlds(folder, card, [*by_name], [w.name for w in worlds if w.asks_texts])
        for name, of in card.worlds.items():
            unlike = [key for key in BOUND if getattr(of, key) != known[name][key]]
            unlike += examine.unlike_settings(known[name]["settings"], of.settings)
            if unlike:
                raise InputError(f"{folder / CARD}, worlds: {name} is not the suite's ({', '.join(unlike)})")
        for name in answered:
            if (card.suite, name) not in self._standards:
                self._standards[card.suite, name] = open_standard(by_name[name], known[name])
        return check_card(folder, card, {name: self._standards[card.suite, name] for name in answered})

    def list_references(self, quick: bool) -> Sequence[dict]:
        """The numbers of the references on the frozen suite, as they stand on cards."""
        return read_json(examine.HASHES).get("references", {}).get("quick" if quick else SUITE, [])

    def ask_twin(self, one: CheckedCard) -> str:
        """What the private twin says of a card, in words; empty where the editor was not examined on it."""
        twin = one.folder.parent.with_name(f"{one.folder.parent.resolve().name}-twin") / one.folder.name
        if not (twin / CARD).exists():
            return ""
        try:
            unborne = find_unborne(one, self.check(twin))
        except InputError as error:
            return f"its card does not hold ({error})"
        return f"does not bear out {', '.join(unborne)}" if unborne else "bears it out"


def open_standard(world: SuiteWorld, known: dict) -> Standard:
    """A world of the suite with the unedited model's answers to all cases; made where it is missing.

    Raises:
        InputError: this machine makes another world.
    """
    judged, digests = examine.prepare_world(world, known)
    jobs = examine.edit_by_one(replace(world.edits, editors=(UNEDITED,)), judged)

    @cache
    def find_tokens(entity: int) -> tuple[int, ...]:
        return tuple(jobs.world.tokenizer.entity(entity).tolist())

    config = read_config(jobs.jobs[0].folder)
    return Standard(
        examine.read_world(world, jobs), jobs.temperatures, config, digests["weights"], find_tokens
    )
