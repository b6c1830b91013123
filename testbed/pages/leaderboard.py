"""One page of all scorecards that were handed in: editors as rows, strata as columns (docs/examine.md).

What others wrote is shown as text; it was checked before (`testbed.commands.cards`).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from corpus.files import staged_file, write_json
from testbed.pages.messages import format_number
from testbed.pages.palette import assign_slots, has_ring, palette_css
from testbed.pages.templates import load_template
from testbed.scores.card_format import FORMAT, KindCount
from testbed.scores.metric import ARROWS

PAGE, DATA = "index.html", "leaderboard.json"
MARKS = {
    "better": "\N{BLACK UP-POINTING TRIANGLE} ",
    "worse": "\N{BLACK DOWN-POINTING TRIANGLE} ",
    "unsure": "",
}
"""What says beside its colour how a number stands to no edit."""


class Entry(NamedTuple):
    """An editor on the page.

    Attributes:
        name: of the editor, and of its folder where two have one name.
        folder: the handed-in folder, relative to the page; empty for references.
        numbers: by row of the card, as scorecard.json has them.
        counts: by kind of world, of the rows in which it is surely better than no edit, and worse.
        about: origin, settings, exactness, seconds an edit, revision, processor, date; in words.
        explorer: its page with all edits, relative; empty where there is none.
    """

    name: str
    folder: str
    numbers: Mapping[str, Mapping[str, Any]]
    counts: Mapping[str, KindCount]
    about: Mapping[str, str]
    explorer: str = ""


def write_leaderboard(
    folder: Path,
    suite: str,
    title: str,
    rows: Sequence[Mapping[str, Any]],
    entries: Sequence[Entry],
    left_out: Sequence[str] = (),
) -> Path:
    """Write index.html and leaderboard.json into a folder of handed-in folders; returns the page.

    Args:
        suite, title, rows: of the cards, as scorecard.json has them.
        entries: in the order in which they stand.
        left_out: which folders are left out, and why.
    """
    content = {
        "format": FORMAT,
        "suite": suite,
        "title": title,
        "rows": rows,
        "editors": [
            entry._asdict() | {"counts": {kind: of._asdict() for kind, of in entry.counts.items()}}
            for entry in entries
        ],
    }
    kinds = [*dict.fromkeys(row["kind"] for row in rows)]
    slots = assign_slots(entry.name for entry in entries)
    template = load_template(
        Path(__file__).with_name("leaderboard.html.jinja"), palette=palette_css(), arrows=ARROWS,
        shown=show_number, versus=show_difference, slots=slots, has_ring=has_ring, marks=MARKS,
    )  # fmt: skip
    with staged_file(folder / PAGE) as aside:
        aside.write_text(
            template.render(**content | {"entries": entries, "left_out": left_out, "kinds": kinds}),
            encoding="utf-8",
        )
    write_json(folder / DATA, content)
    return folder / PAGE


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
