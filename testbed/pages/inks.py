"""The inks of charts, as a light page has them, and what becomes of each on a dark one."""

import re

from testbed.pages.palette import AGENT_COLOUR, EDITOR_COLOURS, MODEL_COLOUR

MODEL, AGENT, QUIET, LATER = MODEL_COLOUR.light, AGENT_COLOUR.light, "#9aa5b1", "#8f3d76"
LINES = (MODEL, AGENT, LATER, "#2f855a", QUIET, "#1a202c")
GRID, TEXT, PAPER, JOIN = "#e4e7eb", "#1f2933", "#ffffff", "#b8c2cc"
ON_DARK = {
    **dict((MODEL_COLOUR, AGENT_COLOUR, *EDITOR_COLOURS)),
    **dict(zip(LINES[2:], ("#d58ac0", "#6fd3a0", "#75818d", "#cbd5df"), strict=True)),
    **{GRID: "#2a343e", TEXT: "#e6ebf0", PAPER: "#14191f", JOIN: "#566472", "#000000": "#e6ebf0"},
}
NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def add_dark_inks(svg: str) -> str:
    """A picture of Matplotlib's, in which a dark page shows the twin of each ink.

    What cannot stand in XML, such as control characters of names, becomes a sign that says so.
    """
    rules = (
        f'[style*="{how}: {light}"]{{{how}:{dark}!important}}'
        for light, dark in ON_DARK.items()
        for how in ("fill", "stroke")
    )
    style = f"<style>@media screen and (prefers-color-scheme:dark){{{''.join(rules)}}}</style>"
    head, end, rest = NOT_XML.sub("\ufffd", svg).partition("<defs>")
    return f"{head}{style}{end}{rest}"
