"""The picture of an edit, an SVG: what model and agent answer before and after it, question by question."""

import unicodedata
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np

from corpus.files import staged_file
from testbed.pages.palette import AGENT_COLOUR, MODEL_COLOUR
from testbed.scores.distances import MOVED

BARS = 4
EDITED_FACT, CONSEQUENCE = "the edited fact: ", "what depends on it: "
"""What is said before the name of a relation."""
WIDTH = 520
_NAMES, _BAR, _GAP, _LINE = 158, 132, 46, 26
_LETTERS = 22
"""So many letters of a name fit beside its bars."""
_STYLE = f"""text{{font:13px system-ui,sans-serif;fill:#1f2933}} .quiet{{fill:#52606d;font-size:12px}}
.head{{font-weight:600}} .number{{font-size:10px;fill:#52606d}} .track{{fill:#eef2f6}}
.model{{fill:{MODEL_COLOUR.light}}} .agent{{fill:{AGENT_COLOUR.light}}}
@media (prefers-color-scheme:dark){{text{{fill:#e6ebf0}} .quiet,.number{{fill:#a5b2bf}} .track{{fill:#26303a}}
.model{{fill:{MODEL_COLOUR.dark}}} .agent{{fill:{AGENT_COLOUR.dark}}}}}
@media print{{text{{fill:#1f2933}} .track{{fill:#eef2f6}}}}"""


class BeliefPanel(NamedTuple):
    """A question: its label, the objects shown, and float64[2, objects] of each reader, before and after.

    What is shown may also be several claims, each true or false: then `has_one_answer` is False.
    """

    label: str
    objects: Sequence[str]
    lm: np.ndarray
    agent: np.ndarray
    has_one_answer: bool = True


def find_tallest(height: np.ndarray) -> np.ndarray:
    """Which few objects are worth showing, the most probable first; float64[objects] to int64[shown]."""
    tallest = np.argsort(-height, kind="stable")[:BARS]
    return tallest[height[tallest] >= max(0.0, min(MOVED, height.max()))]


def draw_beliefs(title: str, panels: Sequence[BeliefPanel], path: Path) -> str:
    """A row an object, a block a question, before the edit on the left and after it on the right, as SVG.

    Returns:
        What it shows, in words.
    """
    says = "; ".join(_describe_panel(panel) for panel in panels)
    lines, y = [_text(0, 16, _shorten(title, 64), "head")], 40
    for x, kind, word in ((0, "model", "language model"), (150, "agent", "rational agent")):
        lines.append(f'<rect class="{kind}" x="{x}" y="{y - 10}" width="11" height="11"/>')
        lines.append(_text(x + 17, y, word, "quiet"))
    y += _LINE
    for t, word in enumerate(("before the edit", "after the edit")):
        lines.append(_text(_NAMES + t * (_BAR + _GAP), y, word, "quiet"))
    for panel in panels:
        y += _LINE
        lines.append(_text(0, y, _shorten(panel.label, 70), "head"))
        for i, name in enumerate(panel.objects):
            y += _LINE
            lines.append(_text(0, y - 4, _shorten(name), "", name))
            for t in range(2):
                x = _NAMES + t * (_BAR + _GAP)
                lines += [
                    _bar(x, y - 16, panel.lm[t, i], "model"),
                    _bar(x, y - 7, panel.agent[t, i], "agent"),
                ]
        y += 6
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 8}" width="{WIDTH}" '
        f'height="{y + 8}" role="img"><title>{_escape(title)}</title><desc>{_escape(says)}</desc>'
        f"<style>{_STYLE}</style>{''.join(lines)}</svg>\n"
    )
    with staged_file(path) as aside:
        aside.write_text(svg, encoding="utf-8")
    return f"{title}. {says}"


def _describe_panel(panel: BeliefPanel) -> str:
    """What a question's bars say, in words."""
    if not len(panel.objects):
        return f"{panel.label}: nothing is asked"
    if not panel.has_one_answer:
        claims = zip(panel.objects, *panel.lm, panel.agent[1], strict=True)
        return f"{panel.label}: " + ", ".join(
            f"{name} {before:.2f} before and {after:.2f} after, by the agent {belief:.2f}"
            for name, before, after, belief in claims
        )
    answers = []
    for who, p in (("the model", panel.lm), ("the agent", panel.agent)):
        before, after = (panel.objects[int(p[t].argmax())] for t in range(2))
        answers.append(f"{who} says {before} before and {after} after")
    return f"{panel.label}: {', '.join(answers)}"


def _bar(x: int, y: int, p: float, kind: str) -> str:
    number = f"{p:.2f}" if p < 1 else "1"
    return (
        f'<rect class="track" x="{x}" y="{y}" width="{_BAR}" height="8"/>'
        f'<rect class="{kind}" x="{x}" y="{y}" width="{_BAR * min(max(p, 0), 1):.1f}" height="8"/>'
        f'<text class="number" x="{x + _BAR + 5}" y="{y + 8}">{number}</text>'
    )


def _text(x: int, y: int, text: str, kind: str, whole: str = "") -> str:
    about = f"<title>{_escape(whole)}</title>" if whole not in ("", text) else ""
    return f'<text class="{kind}" x="{x}" y="{y}" unicode-bidi="isolate">{about}{_escape(text)}</text>'


def _escape(text: str) -> str:
    """As text of XML, in which control characters cannot stand."""
    bad = ("Cc", "Cs", "Cn")
    return escape("".join("\ufffd" if unicodedata.category(c) in bad else c for c in text))


def _shorten(name: str, most: int = _LETTERS) -> str:
    return name if len(name) <= most else name[: most - 1] + "\u2026"
