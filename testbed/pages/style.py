"""How pictures look, and how they are written."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from corpus.files import staged_file

MODEL, AGENT, QUIET, KEPT = "#2b6cb0", "#dd8a1b", "#9aa5b1", "#8f3d76"
LINES = (MODEL, AGENT, KEPT, "#2f855a", QUIET, "#1a202c")
GRID = "#e4e7eb"
STYLE: dict = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "figure.dpi": 150,
    "savefig.bbox": "tight",
    # Names are never formulas, whatever signs they hold.
    "text.parse_math": False,
}


@contextmanager
def picture_style(**changes: object) -> Iterator[None]:
    """Draw in this style; letters that no font has become boxes, without a word each."""
    with plt.rc_context(STYLE | changes), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, whole or not at all, and close it."""
    with staged_file(path) as aside:
        figure.savefig(aside, format="png")
    plt.close(figure)
