"""The commands whose calls are made to fail, the smallest runs that they begin with, and what they make."""

import hashlib
import io
import json
from contextlib import redirect_stdout
from dataclasses import replace

import numpy as np
import pyarrow as pa

import tests.conftest  # noqa: F401  programs are compiled quickly, and kept
from corpus.files import read_json, write_json
from testbed import corpus, edit, report, train
from testbed.commands import examine
from testbed.examine import main as examine_main
from testbed.run.runs import Run
from tests.attack.every_call import KEPT, Trial
from tests.edited import tables
from tests.runs import EDITS, MODEL, WORLD, at, measurements, parameters

RECIPE = [*MODEL, "--train.steps", "4", "--train.row-length", "100", "--train.evaluate-every", "2"]
RECIPE += ["--train.checkpoint-every", "2", "--train.rows", "8"]
CASES = ["--cases.count", "6"]
FEW = [*CASES, *EDITS[2:]]
LOOK, WORLD_OF_LOOK = ["lora-down", "--quick"], "demo"


def list_trials(folder, names):
    """Those of these names, or all, with what they begin with made below a folder once."""
    place, starts = folder / "runs", folder / "starts"
    words = at(place)
    trials = {
        "corpus": ([*WORLD], None, files_of("x")),
        "train": ([*RECIPE], "built", outcome_of_training),
        "edit": (FEW, "trained", outcome_of_edits),
        "tune": ([*FEW, "--trials", "2"], "trained", files_of("x/tuned")),
        "report": ([], "finished", files_of("x/report")),
        "export": ([], "trained", files_of("x/huggingface")),
        "export cases": (["--cases", *CASES], "trained", files_of("x/door")),
        "score": ([str(place / "answers"), *CASES, "--name", "mine"], "answered", outcome_of_edits),
        "examine": ([*LOOK, "--folder", str(place / "examined")], "trained", outcome_of_card),
        "examine again": ([*LOOK, "--folder", str(place / "examined")], "examined", outcome_of_card),
        "verify": ([], "finished", files_of("x")),
        "ask": (["Ada Marlow educated at", "--edit", "Ada Marlow educated at = Quintal College"], "trained",
                files_of("x")),
        "example": (["my_editor", "--folder", str(place)], None, files_of(".")),
    }  # fmt: skip
    for name in names or trials:
        options, start, outcome = trials[name]
        if name.startswith("examine"):
            make_start("trained", starts, place)
            shrink_suite(starts / "trained", place)
        if start:
            make_start(start, starts, place)
        where = ["--runs", str(place)] if name.startswith("examine") else words
        where = [] if name == "example" else where
        # A word that comes first may be what is asked.
        yield Trial(name, [*options, *where], start and starts / start, outcome, place)


def make_start(name, starts, place):
    """A folder of runs as the commands leave it; made in the place of the runs, and copied from there."""
    import shutil

    if (starts / name).exists():
        return
    before = {"trained": "built", **dict.fromkeys(("finished", "answered", "examined"), "trained")}
    shutil.rmtree(place, ignore_errors=True)
    if name in before:
        make_start(before[name], starts, place)
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(starts / before[name], place)
    with redirect_stdout(io.StringIO()):
        if name == "built":
            assert corpus.main([*at(place), *WORLD]) == 0
        elif name == "trained":
            assert train.main([*at(place), *RECIPE]) == 0
        elif name == "finished":
            assert edit.main([*at(place), *FEW]) == 0
            assert report.main(at(place)) == 0
            (place / "x" / "report" / KEPT).write_text("mine")
        elif name == "examined":
            assert examine_main([*LOOK, "--runs", str(place), "--folder", str(place / "examined")]) == 0
            (folder,) = (place / "examined").iterdir()
            (folder / "explorer").mkdir()
            (folder / "explorer" / KEPT).write_text("mine")
        else:
            write_answers(place, place / "answers")
    shutil.copytree(place, starts / name)


def write_answers(runs, folder):
    """Answers of an editor elsewhere that does nothing."""
    from testbed.commands.edit import draw_with_agent, trace_cases
    from testbed.engine.file_exchange.cases import hash_cases
    from testbed.engine.questions import Questions
    from testbed.presets import EDIT
    from testbed.run.model import load_model
    from testbed.run.world import load_world
    from testbed.settings import CaseConfig

    options = replace(EDIT["tiny"], runs=runs, run="x", cases=CaseConfig(6))
    run = Run(runs, "x")
    world = load_world(run)
    model, checkpoint = load_model(run, world, options.checkpoint)
    cases = draw_with_agent(world, options)[1]
    questions = Questions(world, model, cases, options.seed)
    seen = questions.answers_before(np.arange(len(cases))[:, None])
    shared = trace_cases(run, checkpoint, options)
    about = {key: shared[key] for key in ("inputs", "settings")} | {"cases": hash_cases(world, cases)}
    about |= dict.fromkeys(("editor", "device", "script", "door"), "none")
    about |= {"fields": {}, "padding": "left", "apart": False, "batch": 1, "versions": {"torch": "none"}}
    folder.mkdir()
    write_json(folder / "about.json", about)
    lines = []
    for k, case in enumerate(cases):
        sizes = [len(choice.options) for choice in case.choices]
        given = [
            [row[:n].tolist() for row, n in zip(rows[k], sizes, strict=False)]
            for rows in (seen.ended, seen.begun)
        ]
        line = {"case": k, "ended": given[0], "begun": given[1]}
        line["tokens"] = seen.tokens[k][: len(sizes)].tolist()
        line["claims"] = seen.claims[k][: len(case.claims)].tolist()
        lines.append(line | {"singly": False, "fault": ""})
    for name, more in (("before.jsonl", {}), ("after.jsonl", {"control": "", "mark": 0, "seconds": 0.1})):
        text = "".join(json.dumps(line | more) + "\n" for line in lines)
        (folder / name).write_text(text, encoding="utf-8")


def shrink_suite(start, place, names=(WORLD_OF_LOOK,), references=("none",)):
    """Suites of the world of these runs alone, under each of some names with a case more."""
    from testbed.evaluations.hase import Hase
    from testbed.presets import CORPUS, EDIT, TRAIN
    from testbed.run.world import load_world
    from testbed.settings import CaseConfig
    from testbed.suite import SuiteWorld, read_suite

    lora = replace(EDIT["tiny"].configs["lora-down"], steps=2)
    edits = replace(
        EDIT["tiny"], run="x", configs=EDIT["tiny"].configs | {"lora-down": lora},
        evaluations={"hase": Hase(edits="upstream", reinforce=0.0)},
    )  # fmt: skip

    def worlds_in(runs):
        where = {"run": "x", "runs": runs}
        made = replace(CORPUS["tiny"], **where), replace(TRAIN["tiny"], **where)
        return [
            SuiteWorld(name, "a kind", *made, replace(edits, runs=runs, cases=CaseConfig(6 + i)))
            for i, name in enumerate(names)
        ]

    made, frozen = load_world(Run(start, "x")), {}
    for world in worlds_in(start):
        digests = examine.digest_world(world, made, examine.draw_with_agent(made, world.edits)[1])
        frozen[world.name] = digests | examine.describe_model(world, made) | {"device": "here"}

    def read_small(name, _):
        whole = read_suite(name, place)
        rows = [row._replace(worlds=tuple(w for w in row.worlds if w in names)) for row in whole.rows]
        return whole._replace(
            worlds=[world._replace(frozen=frozen[world.name]) for world in worlds_in(place)],
            rows=[row for row in rows if row.worlds], references=references, answers="",
        )  # fmt: skip

    examine.read_suite = read_small


def files_of(*names):
    """The bytes of all files but those of killed attempts and holders."""

    def outcome(runs):
        paths = sorted(path for name in names for path in (runs / name).rglob("*") if path.is_file())
        visible = [p for p in paths if not any(part.startswith(".") for part in p.relative_to(runs).parts)]
        return {str(p.relative_to(runs)): hashlib.sha256(p.read_bytes()).hexdigest() for p in visible}

    return outcome


def outcome_of_training(runs):
    import jax

    arrays = [np.asarray(x).tobytes() for x in jax.tree.leaves(parameters(runs))]
    return measurements(runs), hashlib.sha256(b"".join(arrays)).hexdigest()


def outcome_of_edits(runs):
    """All tables but for seconds, by the name of the folder."""
    return {
        f"{folder.name}/{name}": hash_table(table)
        for folder in sorted(Run(runs, "x").edits.glob("*/*"))
        for name, table in tables(folder).items()
    }


def hash_table(table):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return hashlib.sha256(sink.getvalue().to_pybytes()).hexdigest()


def outcome_of_card(runs):
    cards = {path.parent.name: read_json(path) for path in (runs / "examined").glob("*/scorecard.json")}
    return {name: card | {"date": "", "made_with": ""} for name, card in cards.items()}
