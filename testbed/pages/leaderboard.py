"""One page of all scorecards that were handed in: editors as rows, strata as columns (docs/examine.md).

What is handed in was written by others: it is read as data, checked, and shown as text.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from corpus.errors import InputError
from corpus.files import read_json, staged_file, write_json
from testbed.engine.catalogue import editor_entries
from testbed.pages.messages import format_number
from testbed.pages.palette import assign_slots, has_ring, palette_css
from testbed.pages.templates import load_template
from testbed.scores.card_format import ANSWERS, BOUND, CARD, FORMAT, standing_key
from testbed.scores.gather import flatten_settings
from testbed.scores.metric import ARROWS

PAGE, DATA = "index.html", "leaderboard.json"
MARKS = {
    "better": "\N{BLACK UP-POINTING TRIANGLE} ",
    "worse": "\N{BLACK DOWN-POINTING TRIANGLE} ",
    "unsure": "",
}
"""What says beside its colour how a number stands to no edit."""
NATIVE = ("lm.editors.", "testbed.engine.")
"""Where this project's own editors stand."""


class Entry(NamedTuple):
    """An editor on the page.

    Attributes:
        name: of the editor, and of its folder where two have one name.
        folder: the handed-in folder, relative to the page; empty for references.
        numbers: by row of the card, as scorecard.json has them.
        about: origin, settings, exactness, seconds an edit, revision, processor, date; in words.
        explorer: its page with all edits, relative; empty where there is none.
    """

    name: str
    folder: str
    numbers: Mapping[str, Mapping[str, Any]]
    better: int
    worse: int
    about: Mapping[str, str]
    explorer: str = ""


def write_leaderboard(folder: Path) -> tuple[Path, list[str]]:
    """Write index.html and leaderboard.json into a folder of handed-in folders.

    References, which stand on every card, are those of the first. A card of another suite or of other worlds
    than the first one's is left out.

    Returns:
        The page, and what was left out and why.

    Raises:
        InputError: no scorecard is there, or one is not readable.
    """
    paths = sorted(folder.glob(f"*/{CARD}"))
    if not paths:
        raise InputError(f"{folder} has no folder with a {CARD}; python -m testbed.examine EDITOR makes one")
    cards = {path.parent.name: read_card(path) for path in paths}
    first_name, first = next(iter(cards.items()))
    left_out = [
        f"{name} is left out: {why} than {first_name}"
        for name, card in cards.items()
        if (why := _find_difference(first, card))
    ]
    cards = {name: card for name, card in cards.items() if not _find_difference(first, card)}
    entries = list_entries(folder, cards)
    content = {
        "format": FORMAT,
        "suite": first["suite"],
        "title": first["title"],
        "rows": first["rows"],
        "editors": [entry._asdict() for entry in entries],
    }
    slots = assign_slots(entry.name for entry in entries)
    template = load_template(
        Path(__file__).with_name("leaderboard.html.jinja"), palette=palette_css(), arrows=ARROWS,
        shown=show_number, versus=show_difference, slots=slots, has_ring=has_ring, marks=MARKS,
    )  # fmt: skip
    with staged_file(folder / PAGE) as aside:
        aside.write_text(
            template.render(**content | {"entries": entries, "left_out": left_out}), encoding="utf-8"
        )
    write_json(folder / DATA, content)
    return folder / PAGE, left_out


def read_card(path: Path) -> dict[str, Any]:
    """A scorecard whose parts that the page shows are what they should be.

    Raises:
        InputError: they are not.
    """
    card = read_json(path)
    try:
        if card["format"] != FORMAT:
            raise InputError(f"{path} is of format {card['format']}; this version reads {FORMAT}")
        names = [
            row["row"] for row in card["rows"] if row["better"] in ARROWS and row["says"] and row["worlds"]
        ]
        for editor in card["editors"]:
            _ = int(editor["rows surely better"]), int(editor["rows surely worse"])
            for row, number in editor["numbers"].items():
                over = number["over no edit"]
                fine = row in names and over["verdict"] in ("better", "unsure", "worse")
                values = [*(number[k] for k in ("value", "low", "high")),
                          *(over[k] for k in ("difference", "low", "high"))]  # fmt: skip
                if not fine or not all(x is None or math.isfinite(x) for x in values):
                    raise ValueError(f"row {row!r}")
        if card["examined"] not in [editor["editor"] for editor in card["editors"]]:
            raise ValueError("its own editor is missing")
        _ = [world[key] for world in card["worlds"].values() for key in BOUND]
        _ = card["suite"], card["title"], card["made_with"].get, card["date"]
        for world, method in card["methods"].items():
            if Path(world).name != world or not method.get("editor"):
                raise ValueError(f"method of {world!r}")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path} is not a scorecard as testbed.examine writes it ({error})") from error
    return card


def _raised_versions(card: Mapping[str, Any]) -> set[tuple[str, ...]]:
    """What on a card is of a version above 1; cards from before there were versions are of the first."""
    known, raised = card.get("versions", {}), set[tuple[str, ...]]()
    for kind, of in known.items():
        for name, version in of.items():
            each = version.items() if isinstance(version, dict) else [("", version)]
            raised |= {(kind, name, metric, str(number)) for metric, number in each if number != 1}
    return raised


def _find_difference(first: Mapping[str, Any], card: Mapping[str, Any]) -> str:
    """Why two cards cannot stand on one page; "" where they can."""
    if (first["suite"], first["title"]) != (card["suite"], card["title"]):
        return "of another suite or part of it"
    if _raised_versions(first) != _raised_versions(card):
        return "of other versions of evaluations, agents or metrics"
    shared = first["worlds"].keys() & card["worlds"].keys()
    unlike = sorted(
        name for name in shared if any(first["worlds"][name][k] != card["worlds"][name][k] for k in BOUND)
    )
    return f"of other worlds ({', '.join(unlike)})" if unlike else ""


def list_entries(folder: Path, cards: Mapping[str, Mapping[str, Any]]) -> list[Entry]:
    """The examined editors of all cards and the references of the first, as they stand."""
    examined = [card["examined"] for card in cards.values()]
    first = next(iter(cards.values()))
    entries = []
    for editor in first["editors"]:
        if editor["editor"] not in examined:
            known = editor_entries().get(editor["editor"])
            about = {"origin": "reference", "what it changes": known.about if known else ""}
            about["revision"] = str(first["made_with"].get("revision", ""))
            entries.append(_make_entry(editor["editor"], "", editor, about))
    for name, card in cards.items():
        own = card["examined"]
        editor = next(one for one in card["editors"] if one["editor"] == own)
        label = own if examined.count(own) == 1 else f"{own} ({name})"
        page = folder / name / "explorer" / "index.html"
        explorer = f"{name}/explorer/index.html" if page.exists() else ""
        entries.append(_make_entry(label, name, editor, _describe_card(folder / name, card), explorer))
    return sorted(entries, key=lambda entry: standing_key(entry.name, entry.better, entry.worse))


def _make_entry(
    name: str, folder: str, editor: Mapping[str, Any], about: Mapping[str, str], explorer: str = ""
) -> Entry:
    counts = int(editor["rows surely better"]), int(editor["rows surely worse"])
    return Entry(str(name), folder, editor["numbers"], *counts, about, explorer)


def _describe_card(folder: Path, card: Mapping[str, Any]) -> dict[str, str]:
    """Where an editor comes from, its settings, who judged, what an edit takes, and where it was measured."""
    methods = card["methods"]
    names = {str(method.get("editor", "")) for method in methods.values()}
    native = all(map(_is_native, methods.values()))
    settings = {world: _list_settings(method) for world, method in methods.items()}
    same = len({*settings.values()}) == 1
    made = card["made_with"]
    return {
        "origin": f"{'native' if native else 'guest'}: {', '.join(sorted(names))}",
        "settings": next(iter(settings.values()), "")
        if same
        else "; ".join(f"{world}: {says or 'none'}" for world, says in settings.items()),
        "judged by": _list_standards(folder, methods),
        "seconds an edit": _list_seconds(card),
        "revision": str(made.get("revision", "")),
        "processor": str(made.get("device", "")),
        "date": str(card["date"]),
    }


def _is_native(method: Mapping[str, Any]) -> bool:
    """Whether a method is this project's, which has a version; older cards have the path of its class."""
    return isinstance(method.get("version"), int) or str(method.get("editor", "")).startswith(NATIVE)


def _list_standards(folder: Path, methods: Mapping[str, Any]) -> str:
    """By world the agent, and how exact it says it is."""
    found: dict[str, list[str]] = {}
    for world in methods:
        match _read_answers(folder, world, "config.json"):
            case {"standard": {"agent": agent, "exactness": {"kind": kind}}}:
                found.setdefault(f"{agent}, {kind}", []).append(world)
    return "; ".join(f"{who} ({', '.join(worlds)})" for who, worlds in found.items()) or "not handed in"


def _list_settings(method: Mapping[str, Any]) -> str:
    """The settings of an editor in one world; what is not a dictionary has none."""
    settings = method.get("settings")
    leaves = flatten_settings(settings) if isinstance(settings, dict) else {}
    return ", ".join(f"{key.rpartition('.')[2].replace('_', ' ')} {value}" for key, value in leaves.items())


def _list_seconds(card: Mapping[str, Any]) -> str:
    """The least and the most seconds that an edit takes, over worlds."""
    known = card.get("seconds")
    seconds = (
        [value for value in known.values() if isinstance(value, float)] if isinstance(known, dict) else []
    )
    return f"{min(seconds):.2g} to {max(seconds):.2g}" if seconds else "not handed in"


def _read_answers(folder: Path, world: str, file: str) -> Any:
    """A file beside the answers in a world; None where it was not handed in."""
    path = folder / ANSWERS / world / file
    return read_json(path) if path.is_file() else None


def show_number(number: Mapping[str, Any] | None) -> str:
    """A number with its interval."""
    if not number or number["value"] is None:
        return "-"
    if number["low"] is None or number["high"] is None:
        return format_number(number["value"])
    return (
        f"{format_number(number['value'])} [{format_number(number['low'])}, {format_number(number['high'])}]"
    )


def show_difference(number: Mapping[str, Any] | None) -> str:
    """Its paired difference from no edit on the same cases."""
    over = number["over no edit"] if number else None
    if over is None or over["difference"] is None:
        return ""
    ends: Sequence[str] = [format_number(over[k]) if over[k] is not None else "?" for k in ("low", "high")]
    return f"{over['difference']:+.2f} [{ends[0]}, {ends[1]}]"
