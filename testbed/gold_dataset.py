"""Gold as a dataset: worlds, cases, and what the rational agent believes of every question, as Parquet.

    README.md               the card: configurations and splits, as Hugging Face's `datasets` reads them
    TABLE/WORLD.parquet     TABLES of each world

A split is a world. `datasets.load_dataset("FOLDER", "choices")` needs no network.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from testbed.examination import CaseList, draw_cases
from testbed.protocol import ABSENT, BEFORE, Choice, has_answer_changed
from testbed.run.agents import agent_named, describe_standard
from testbed.run.runs import Run, folder_digest
from testbed.run.strata import StatementIndex
from testbed.run.world import World, load_world
from testbed.settings import CaseSettings

TABLES = {
    "choices": "every question with options: the agent's distributions before and after the edit",
    "claims": "every sentence that may be true: the agent's beliefs before and after the edit",
    "passages": "every opening that a text is to be written to",
    "cases": "every edit request, and what the evaluation says of it",
    "facts": "every fact of the worlds, what it depends on, and how often the corpus states it",
    "worlds": "what each split was made of: agent, exactness, settings, hashes",
}
"""Configuration -> what it holds; the first is loaded where none is named."""
CARD = """\
---
license: mit
language: en
pretty_name: What a rational agent believes after an edit
configs:
{configs}
---

# What a rational agent believes after an edit

Worlds of facts, requests to edit one of them, and for every question the beliefs of a rational agent that
has read the world's corpus: before the request and after it. No model is involved. Written by `python -m
testbed.export --gold` of credence-testbed, after Hase et al. 2024, *Fundamental Problems With Model Editing:
How Should Rational Belief Revision Work in LLMs?*

```python
from datasets import load_dataset

load_dataset("FOLDER", "choices", split="{first}")
```

| split | facts | cases | choices | claims | the agent |
|---|---:|---:|---:|---:|---|
{sizes}

| configuration | what it holds | columns |
|---|---|---|
{columns}

`agent_before` has the agent's probability of each of the options before the edit; `agent_evidence`,
`agent_correction` and `agent_do` after it, where the request is that to the agent. What is missing to 1 is
spread over all other objects. `frequency_*` is the share of the corpus's statements. An answer is missing
where the corpus leaves it undetermined. `exactness` and `bound` say how far the beliefs are Bayes' rule for
the process that wrote the corpus. Rows of one `case` belong to one request.
"""
_TEXT, _REAL, _WHOLE = pa.string(), pa.float64(), pa.int32()
_REALS = pa.list_(_REAL)


class GoldSplit(NamedTuple):
    """One world's part: its name, and a table of each configuration."""

    name: str
    tables: dict[str, pa.Table]


def make_split(run: Run, settings: CaseSettings) -> GoldSplit:
    """Draw the cases of a run's world, and write down what the agent believes.

    Raises:
        InputError: the world or the agent has nothing to ask.
    """
    world, evaluation = load_world(run), settings.chosen_evaluation
    agent = agent_named(settings.agent, world, settings.paper_agent)
    cases = CaseList(world, settings.evaluation, evaluation, draw_cases(world, agent, settings))
    times, exactness = (BEFORE, *evaluation.interpretations), agent.exactness
    tables = {
        "choices": list_choices(world, cases, times),
        "claims": list_claims(world, cases, times),
        "passages": list_passages(world, cases),
        "cases": cases.to_arrow(),
        "facts": list_facts(world),
    }
    for name in ("choices", "claims"):
        for column, value, kind in (("exactness", exactness.kind, _TEXT), ("bound", exactness.bound, _REAL)):
            tables[name] = tables[name].append_column(column, pa.array([value] * len(tables[name]), kind))
    about = {
        "world": run.name,
        "facts": len(world.graph),
        "subjects": len(world.graph.subjects),
        "objects": len(world.graph.objects),
        "cases": len(cases),
        "agent": describe_standard(settings.agent, exactness._asdict(), evaluation.interpretations),
        "exactness": exactness.kind,
        "bound": exactness.bound,
        "why": exactness.why,
        "settings": json.dumps(settings.settings_as_data(), sort_keys=True),
        "world_hash": folder_digest(run.world),
        "corpus_hash": folder_digest(run.corpus),
    }
    kinds = {"facts": _WHOLE, "subjects": _WHOLE, "objects": _WHOLE, "cases": _WHOLE, "bound": _REAL}
    schema = pa.schema([(name, kinds.get(name, _TEXT)) for name in about])
    tables["worlds"] = pa.Table.from_pylist([about], schema=schema)
    return GoldSplit(split_name(run.name), tables)


def list_choices(world: World, cases: CaseList, times: Sequence[str]) -> pa.Table:
    """A row a question: options, the agent's probability of each, its answer, the corpus's share."""
    names, relations = world.graph.entities, world.graph.relations
    facets = list(cases.evaluation.choice_facets)

    def name_of(number: int) -> str | None:
        return names[number] if number != ABSENT else None

    def row_of(number: int, choice: Choice) -> dict[str, Any]:
        offered = np.ones(len(choice.options), bool) if choice.offered is None else choice.offered
        row: dict[str, Any] = {
            "case": number,
            "role": choice.role,
            "group": choice.group,
            "subject": names[choice.subject],
            "relation": relations[choice.relation],
            "phrasing": choice.phrasing,
            "stated": choice.stated,
            "options": [names[o] for o in choice.options],
            "offered": offered.tolist(),
        }
        for t, time in enumerate(times):
            row[f"agent_{time}"] = choice.agent[t].tolist()
            row[f"agent_answer_{time}"] = name_of(int(choice.answer[t]))
            row[f"frequency_{time}"] = choice.frequency[t].tolist()
        for t, time in enumerate(times[1:], start=1):
            row[f"must_change_{time}"] = bool(has_answer_changed(choice, t))
        return row | {name: choice.facets[name] for name in facets}

    rows = [row_of(i, choice) for i, case in enumerate(cases) for choice in case.choices]
    columns = {
        **{"case": _WHOLE, "role": _TEXT, "group": _TEXT, "subject": _TEXT, "relation": _TEXT},
        **{"phrasing": _WHOLE, "stated": _WHOLE, "options": pa.list_(_TEXT), "offered": pa.list_(pa.bool_())},
        **{f"agent_{time}": _REALS for time in times},
        **{f"frequency_{time}": _REALS for time in times},
        **{f"agent_answer_{time}": _TEXT for time in times},
        **{f"must_change_{time}": pa.bool_() for time in times[1:]},
    }
    inferred = [name for name in facets if rows]
    table = pa.Table.from_pylist(rows, schema=pa.schema(list(columns.items())))
    for name in inferred:
        table = table.append_column(name, pa.array([row[name] for row in rows]))
    return table


def list_claims(world: World, cases: CaseList, times: Sequence[str]) -> pa.Table:
    """A row a sentence: its text without a label, and the agent's belief that it is true."""
    language = world.tokenizer.language
    rows = [
        {
            "case": i,
            "role": claim.role,
            "group": claim.group,
            "sentence": language.render(claim.sentence),
            **{f"agent_{time}": float(claim.agent[t]) for t, time in enumerate(times)},
        }
        for i, case in enumerate(cases)
        for claim in case.claims
    ]
    columns = {"case": _WHOLE, "role": _TEXT, "group": _TEXT, "sentence": _TEXT}
    beliefs = {f"agent_{time}": _REAL for time in times}
    return pa.Table.from_pylist(rows, schema=pa.schema([*columns.items(), *beliefs.items()]))


def list_passages(world: World, cases: CaseList) -> pa.Table:
    """A row an opening: its text, how many texts are written to it, and how tokens are drawn."""
    rows = [
        passage._asdict() | {"case": i, "opening": world.tokenizer.decode(passage.opening.tolist())}
        for i, case in enumerate(cases)
        for passage in case.passages
    ]
    columns = {"case": _WHOLE, "role": _TEXT, "opening": _TEXT, "samples": _WHOLE, "longest": _WHOLE}
    drawn = {"temperature": _REAL, "top_k": _WHOLE, "top_p": _REAL}
    return pa.Table.from_pylist(rows, schema=pa.schema([*columns.items(), *drawn.items()]))


def list_facts(world: World) -> pa.Table:
    """A row a fact: subject, relation, the true object, what it depends on, and how often it is stated."""
    graph, names = world.graph, pa.array(world.graph.entities)
    relations = pa.array(graph.relations)
    above = graph.upstream[graph.relation]
    index = StatementIndex(graph, world.sentences)
    stated = [len(index.objects_of(fact)) for fact in range(len(graph))]
    return pa.table(
        {
            "subject": names.take(pa.array(graph.subject)),
            "relation": relations.take(pa.array(graph.relation)),
            "object": names.take(pa.array(world.generative.truth)),
            "depends_on": relations.take(pa.array(above, mask=above < 0)),
            "stated": pa.array(stated, _WHOLE),
        }
    )


def split_name(run: str) -> str:
    """A run's name as that of a split: letters, digits and underscores."""
    return re.sub(r"\W+", "_", run, flags=re.ASCII).strip("_") or "world"


def describe_dataset(splits: Sequence[GoldSplit]) -> str:
    """The card: what `datasets` reads, and what people do."""
    configs, sizes = [], []
    for config in configurations_of(splits):
        configs += [f"- config_name: {config}", *(["  default: true"] if config == "choices" else [])]
        configs.append("  data_files:")
        for split in splits:
            configs += [f"  - split: {split.name}", f"    path: {config}/{split.name}.parquet"]
    for split in splits:
        (about,) = split.tables["worlds"].to_pylist()
        counts = [f"{len(split.tables[config]):,}" for config in ("facts", "cases", "choices", "claims")]
        sizes.append(f"| {' | '.join([split.name, *counts, about['agent']])} |")
    columns = [
        f"| `{config}` | {TABLES[config]} | {_column_names(splits, config)} |"
        for config in configurations_of(splits)
    ]
    return CARD.format(
        configs="\n".join(configs), sizes="\n".join(sizes), columns="\n".join(columns), first=splits[0].name
    )


def configurations_of(splits: Sequence[GoldSplit]) -> list[str]:
    """The tables that have rows in some world."""
    return [config for config in TABLES if any(len(split.tables[config]) for split in splits)]


def _column_names(splits: Sequence[GoldSplit], config: str) -> str:
    names = dict.fromkeys(name for split in splits for name in split.tables[config].column_names)
    return ", ".join(f"`{name}`" for name in names)
