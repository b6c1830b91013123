"""Edits that nobody made: cases of a small world, and models that go some part of the agent's way."""

import json

import numpy as np
import pyarrow.parquet as pq

from corpus.files import CHECKSUMS, hash_content, seal_folder
from lm.editors.interface import Info
from testbed.engine import records
from testbed.engine.questions import ModelAnswers
from testbed.engine.records import SUMMARY, TABLES, Circumstances, Columns, control_stem, write_rows
from testbed.engine.versions import versions_of_cases
from testbed.evaluations.hase import INDEPENDENT, REQUEST, Hase
from testbed.run.agents import agent_named
from testbed.run.object_names import ObjectNames
from testbed.run.runs import folder_digest
from testbed.run.world import load_world
from testbed.settings import EditSettings

HASE = Hase()
COLUMNS = Columns(HASE.interpretations, HASE.facets)


def hase_cases(world, agent, count, seed=0, credence=0.95, **settings):
    """Cases of Hase's evaluation."""
    return list(Hase(**settings).make_cases(world, agent, count, credence, seed))


def cases_of(run, count, seed=0):
    world = load_world(run)
    return hase_cases(world, agent_named("paper", world), count, seed)


def rows_of(run, cases, follows, seed=0, sequence=0):
    """Rows of all tables: all requests taken up, a share `follows` of the rest of the agent's movement.

    Args:
        sequence: edits in each sequence, 0 for independent ones.
    """
    rng, world = np.random.default_rng(seed), load_world(run)
    names = ObjectNames(world.tokenizer, world.graph.objects)
    wide = max(len(choice.options) for case in cases for choice in case.choices)
    choices = max(len(case.choices) for case in cases)
    believed = np.zeros((2, len(cases), choices, wide))
    tokens = np.zeros((2, len(cases), choices, names.longest + 1), np.int32)
    for i, case in enumerate(cases):
        took = rng.random() < follows
        for q, choice in enumerate(case.choices):
            asked, apart = choice.role == REQUEST, choice.role == INDEPENDENT
            part = 1.0 if asked else 0.0 if apart else follows
            before = 0.9 * choice.agent[0]
            believed[:, i, q, : len(before)] = before, before + part * (choice.agent[1] - before)
            for t, answer in enumerate((choice.answer[0], choice.answer[int(took or asked)])):
                name = world.tokenizer.entity(int(answer))
                tokens[t, i, q, : len(name)] = name
    claims = rng.random((2, len(cases), len(cases[0].claims), 2)) / 2
    number = np.arange(len(cases))
    work = [np.full(len(cases), value) for value in (40, 400, 400)]
    how = Circumstances(
        case=number,
        cluster=number // sequence if sequence else np.array([case.request.subject for case in cases]),
        position=number % sequence if sequence else 0 * number,
        info=Info(np.tile([1.0, 0.1], (len(cases), 1)), *work),
        seconds=np.full(len(cases), 0.5),
    )
    seen = [ModelAnswers(believed[t], believed[t], tokens[t], claims[t]) for t in (0, 1)]
    return records.rows_of_cases(cases, *seen, how, names, COLUMNS)


def first_edits(rows, edits):
    """The rows of the first edits of every sequence."""
    kept = {row["case"] for row in rows["cases"] if row["position"] < edits}
    return {table: [row for row in rows[table] if row["case"] in kept] for table in TABLES}


TRACED = ("inputs", "settings", "versions", "flags", "editor", "method")


def write_edits(run, editor, rows, seed=0, cost=None, retained=None, steps=40, controls=None, **changes):
    """An edits folder as testbed.edit leaves it."""
    config = {
        "inputs": {
            "world": folder_digest(run.world),
            "corpus": folder_digest(run.corpus),
            "checkpoint": f"of {run.name}",
        },
        "settings": EditSettings(seed=seed).settings_as_data() | changes,
        "versions": versions_of_cases(Hase.version, "paper"),
        "editor": editor,
        "method": {"editor": editor, "settings": {"config": {"steps": steps, "rate": 0.1}}, "version": 1},
        "standard": {
            "agent": "paper",
            "exactness": {"kind": "approximation", "bound": None, "why": "a test"},
        },
        "controls": list(controls or {}),
        "made_with": {},
    }
    folder = run.edits / "hase" / name_of(config)
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "summary.json").write_text("{}", encoding="utf-8")
    for edits, kept in (retained or {}).items():
        write_rows(kept, folder, COLUMNS, f"retained-{edits}-")
    for name, told in (controls or {}).items():
        write_rows(told, folder, COLUMNS, control_stem(name))
    if cost:
        (folder / "cost.json").write_text(json.dumps(cost), encoding="utf-8")
    write_rows(rows, folder, COLUMNS)
    seal_results(folder)
    return folder


def seal_results(folder):
    """Write checksums of all that lies in a folder of edits, as if it had been written so."""
    files = {path.name for path in folder.iterdir() if path.is_file()}
    seal_folder(folder, files - {CHECKSUMS, SUMMARY})


def name_of(config):
    """What a folder with such a config.json is called."""
    trace = {key: config[key] for key in TRACED if key in config}
    return f"{config['editor'].replace(':', '.')}-{hash_content(trace)}"


def changed(folder, **changes):
    """Write something else into the config.json of some edits; the folder, whose name says so too."""
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8")) | changes
    path.write_text(json.dumps(config), encoding="utf-8")
    seal_results(folder)
    return folder.rename(folder.with_name(name_of(config)))


def write_training(run):
    """metrics.jsonl of a model that learned."""
    run.metrics.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"step": s, "loss": 1 / s, "accuracy": 1 - 1 / s}) for s in (1, 10, 100)]
    run.metrics.write_text("\n".join(lines) + "\n", encoding="utf-8")


def tables(folder):
    """All tables of a sweep; how long an edit took is never the same."""
    by_name = {path.name: pq.read_table(path) for path in sorted(folder.glob("*.parquet"))}
    return {n: table.drop_columns("seconds") if "cases" in n else table for n, table in by_name.items()}
