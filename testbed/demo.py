"""python -m testbed.demo [tiny|laptop|small|paper]: everything, from nothing to a report."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from testbed.ask import ask
from testbed.cells import show_number
from testbed.console import print_table, run_command, say
from testbed.corpus import build_corpus
from testbed.edit import edit
from testbed.launch import launch_command
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.report import report
from testbed.settings import AskSettings, DemoSettings, ReportSettings
from testbed.train import train


def demo(options: DemoSettings) -> None:
    """Corpus, training, edits, one question and the report; a killed demo resumes."""
    where: dict[str, Any] = {"run": options.run, "runs": options.runs}
    seeded = {**where, "seed": options.seed}
    question = AskSettings(
        "Ada Marlow educated at",
        edit="Ada Marlow educated at = Quintal College",
        configs=EDIT[options.preset].configs,
        **seeded,
    )
    stages: list[tuple[str, Callable[[Any], None], Any]] = [
        ("corpus", build_corpus, replace(CORPUS[options.preset], **seeded)),
        ("train", train, replace(TRAIN[options.preset], **seeded)),
        ("edit", edit, replace(EDIT[options.preset], editors=options.editors, **seeded)),
        ("ask", ask, question),
        ("report", report, ReportSettings(against=options.editors[0], **where)),
    ]
    took = []
    for name, stage, settings in stages:
        began = time.perf_counter()
        stage(settings)
        took.append((name, time.perf_counter() - began))
    took.append(("all", sum(seconds for _, seconds in took)))
    print_table("demo", ("stage", "seconds"), [(name, show_number(seconds, ".1f")) for name, seconds in took])
    say(f"open {(options.runs / options.run / 'report' / 'index.html').resolve()}")


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return run_command("demo", __doc__ or "", DemoSettings, demo, args)


if __name__ == "__main__":
    launch_command(main)
