"""Edits that nobody made: cases of a small world, and models that go some part of the agent's way."""

import json

import numpy as np

from testbed.edit import OF_THE_COMMAND
from testbed.engine.probes import LOGIC
from testbed.engine.records import write_rows
from testbed.evaluations.hase.cases import CELLS, INDEPENDENT, REQUEST
from testbed.evaluations.hase.sampling import Sampler
from testbed.settings import CaseConfig, EditSettings
from testbed.run.agents import agent_named
from testbed.run.runs import plain
from testbed.run.world import load_world


def cases_of(run, count, seed=0):
    world = load_world(run)
    return list(Sampler(world, agent_named("paper", world), CaseConfig(count=count), seed))


def rows_of(cases, follows, seed=0, start=0, sequence=0):
    """Rows of cases.parquet: all requests taken up, a share `follows` of the rest of the agent's movement.

    Args:
        sequence: edits in each sequence, 0 for independent ones.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for i, case in enumerate(cases):
        took = rng.random() < follows
        cells = []
        for q, cell in enumerate(case.cells):
            if cell is None:
                continue
            part = 1.0 if q == REQUEST else follows if q != INDEPENDENT else 0.0
            before = 0.9 * cell.agent[0]
            after = before + part * (cell.agent[1] - before)
            answer = [int(cell.answer[0]), int(cell.answer[1] if took or q == REQUEST else cell.answer[0])]
            entry = {"name": CELLS[q], "subject": cell.subject, "relation": cell.relation}
            entry["objects"] = cell.candidates
            for t, when in enumerate(("before", "after")):
                entry |= {
                    f"agent_{when}": cell.agent[t],
                    f"frequency_{when}": cell.frequency[t],
                    f"lm_{when}": (before, after)[t],
                    f"lm_open_{when}": (before, after)[t],
                    f"agent_answer_{when}": int(cell.answer[t]),
                    f"lm_answer_{when}": answer[t],
                }
            cells.append(entry)
        logic = [
            {"statement": name}
            | {f"{w}_{t}": rng.random() / 2 for t in ("before", "after") for w in ("true", "false")}
            for name in LOGIC
        ]
        known = {
            name: getattr(case, name)
            for name in ("subject", "relation", "object", "truth", "kind", "reinforces", "weight", "child",
                         "changes", "support_new", "support_old", "stratum", "seen_subject", "seen_object")
        }  # fmt: skip
        cluster = case.subject if not sequence else i // sequence
        position = 0 if not sequence else i % sequence
        done = {"case": start + i, "cluster": cluster, "position": position}
        work = {"steps": 40, "forward": 400, "backward": 400, "seconds": 0.5, "loss": [1.0, 0.1]}
        rows.append(known | done | work | {"cells": cells, "logic": logic})
    return rows


def write_edits(run, editor, rows, seed=0, cost=None, retained=None, steps=40, **changes):
    """An edits folder as testbed.edit leaves it."""
    shared = {k: v for k, v in plain(EditSettings(seed=seed)).items() if k not in OF_THE_COMMAND}
    settings = shared | {"editor": editor} | changes
    folder = run.edits / f"{editor.replace(':', '.')}-{len(list(run.edits.glob('*'))):012x}"
    folder.mkdir(parents=True)
    config = {
        "settings": settings,
        "editor": f"Some(config=Config(steps={steps}, rate=0.1))",
        "standard": "the paper's agent (a test)",
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "summary.json").write_text("{}", encoding="utf-8")
    write_rows(rows, folder / "cases.parquet")
    for edits, kept in (retained or {}).items():
        write_rows(kept, folder / f"retained-{edits}.parquet")
    if cost:
        (folder / "cost.json").write_text(json.dumps(cost), encoding="utf-8")
    return folder


def write_training(run):
    """metrics.jsonl of a model that learned."""
    run.metrics.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"step": s, "loss": 1 / s, "accuracy": 1 - 1 / s}) for s in (1, 10, 100)]
    run.metrics.write_text("\n".join(lines) + "\n", encoding="utf-8")
