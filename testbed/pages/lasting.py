"""Do edits last? Scores at once and after later edits, as picture and table."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from testbed.pages.chapter import Picture, Section
from testbed.pages.charts import finish_figure, make_panels, wrap_title
from testbed.pages.style import GRID, KEPT, MODEL, picture_style, save_figure
from testbed.scores.comparison import ScoredEditor
from testbed.scores.retention import Retention, retention_table


def lasting_section(
    editors: Sequence[ScoredEditor],
    curves: dict[str, list[Retention]],
    metrics: Sequence[str],
    folder: Path,
) -> Section | None:
    """Two metrics by number of edits, and the table of all that are followed; None for independent edits."""
    table = retention_table(editors, curves)
    if table is None:
        return None
    draw_retention(curves, metrics, folder / "retention.png")
    says = f"{' and '.join(metrics)} by number of edits, at once and kept"
    text = "Edits made one after another in the same model: scored at once, and again after later ones."
    return Section("lasting", "Do edits last?", text, [Picture("retention.png", says)], folded=[table])


def draw_retention(curves: Mapping[str, Sequence[Retention]], metrics: Sequence[str], path: Path) -> None:
    """A panel an editor: two metrics by number of edits, at once and kept."""
    with picture_style():
        figure, axes = make_panels(len(curves))
        for axis, (name, curve) in zip(axes, curves.items(), strict=True):
            at = [k.edits for k in curve]
            for metric, colour, mark in zip(metrics, (MODEL, KEPT), "os", strict=False):
                for part, style, fill in (("immediate", "--", "white"), ("retained", "-", colour)):
                    shown = [getattr(k, part)[metric] for k in curve]
                    values = [e.value for e in shown]
                    low, high = ([getattr(e, end) for e in shown] for end in ("low", "high"))
                    when = "at once" if part == "immediate" else "kept"
                    axis.fill_between(at, low, high, color=colour, alpha=0.08, lw=0)
                    axis.plot(
                        at,
                        values,
                        style,
                        marker=mark,
                        ms=4,
                        color=colour,
                        mfc=fill,
                        label=f"{metric}, {when}",
                    )
            axis.set_xscale("log")
            axis.set_xticks(at, [f"{edits:,}" for edits in at], minor=False)
            axis.minorticks_off()
            axis.set_title(wrap_title(name), fontsize=9)
            axis.grid(axis="y", color=GRID, lw=0.6)
        finish_figure(figure, axes, "edits in the sequence", "share, ratio")
        save_figure(figure, path)
