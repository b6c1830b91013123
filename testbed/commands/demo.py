"""Everything, from nothing to a report."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from testbed.cells import show_number
from testbed.commands.ask import ask
from testbed.commands.corpus import build_corpus
from testbed.commands.edit import edit
from testbed.commands.report import report
from testbed.commands.train import train
from testbed.console import print_table, say
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.settings import AskSettings, DemoSettings, ReportSettings


def demo(options: DemoSettings) -> None:
    """Corpus, training, edits, one question and the report; a killed demo resumes."""
    where: dict[str, Any] = {"run": options.run, "runs": options.runs}
    seeded = {**where, "seed": options.seed}
    question = AskSettings(
        question="Ada Marlow educated at",
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
    page = (options.runs / options.run / "report" / "index.html").resolve()
    say(f"The report shows what the edited models got right and wrong. Open it in a browser: {page}")
