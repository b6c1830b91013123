"""The picture of a training."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt

from testbed.pages.style import AGENT, MODEL, QUIET, picture_style, save_figure

LABEL_STYLES = {"truth": "-", "not": "--", "and": "-.", "or": ":"}


def draw_training(metrics: Sequence[dict], path: Path) -> None:
    """Accuracy of facts and of every kind of sentence, and loss, against training steps (Hase, Fig. 3)."""
    with picture_style():
        figure, axis = plt.subplots(figsize=(6.4, 3.6))
        steps = [m["step"] for m in metrics]
        axis.plot(
            steps, [m["accuracy"] for m in metrics], color=MODEL, marker="o", markersize=3, label="facts"
        )
        for kind, style in LABEL_STYLES.items():
            if metrics and kind in metrics[0]:
                axis.plot(steps, [m[kind] for m in metrics], color=AGENT, linestyle=style, lw=1, label=kind)
        axis.set(xlabel="training step", ylabel="accuracy", ylim=(0, 1.02), xlim=(0, None))
        axis.legend(frameon=False, ncols=5, fontsize=8, loc="lower right")
        other = axis.twinx()
        other.plot(steps, [m["loss"] for m in metrics], color=QUIET)
        other.set_ylabel("loss (nats per token)", color=QUIET)
        other.spines["right"].set_visible(True)
        axis.set_title("The model learns the corpus")
        save_figure(figure, path)
