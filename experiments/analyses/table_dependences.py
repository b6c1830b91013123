"""Are the dependences of a table found, and only they? Tables of every shape whose structure is known.

Command:
    python -m experiments.table_dependences

Tables are drawn with 60 to 3,000 subjects and four to eight relations of 2 to 2,000 objects, of Zipf
popularity with exponents from 0 to 2. In half of the tables nothing depends on anything; in the others
relations depend on each other in pairs, or in chains and forks. A fact has the object that its cause favours
with probability 0.6 to 1; in some tables up to 0.3 of the facts are missing, and one relation is a key or
nearly one. Each is searched by

held out         what `testbed.corpus` does with a table: `corpus.worlds.pairing` on `corpus.worlds.evidence`
masses averaged  the likeliest forest of `bayes.structure`, whose Dirichlet masses are not known
BIC, K2, BDeu    the same by scores as pgmpy and causal-learn have them; BDeu of a prior worth 10

false tables  of those in which nothing depends on anything, the share in which a dependence is found
false pairs   of the pairs of relations that tell nothing about each other, the share that is found
found         of the true dependences, the share that is found in either direction
found, usual  of those as strong as in docs/findings/structures.md: 90 subjects, and eight for each cause
right, open, wrong  of those found, the share whose stated direction is so; only the first leaves any open

Writes experiments/records/<date>-table-dependences; takes three minutes of one core.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from bayes.structure import log_gain, log_scores
from corpus.config import WorldConfig
from corpus.forests import likeliest_forest
from corpus.graph import KnowledgeGraph, build_graph
from corpus.worlds.evidence import SURE, compare_directions
from corpus.worlds.pairing import find_dependences
from experiments.command import launch_module
from experiments.study import StudyOptions, record_tables
from testbed.console import show_progress
from testbed.run.runs import Run
from testbed.scores.metric import Metric
from testbed.scores.statistics import Estimate, estimate_metric
from testbed.scores.tables import Cell, Table

SHAPES = {"pairs": (-1, 0, -1, 2), "forest": (-1, 0, 1, 0)}
STRENGTHS = (0.6, 0.8, 0.9, 0.95, 1.0)
EQUIVALENT = 10.0
"""The sample that BDeu's prior is worth."""
COLUMNS = ("false tables", "false pairs", "found", "found, usual", "right", "open", "wrong")


@dataclass(frozen=True)
class Settings(StudyOptions):
    """How much is measured."""

    tables: int = 240
    """Tables, half of them with dependences."""
    seed: int = 0
    """Of the tables."""


class KnownTable(NamedTuple):
    """A table whose structure is known.

    Attributes:
        shape: how its dependences are looked for, pairs or forest.
        usual: bool[relations], whether the dependence of each is of the usual strength.
    """

    graph: KnowledgeGraph
    shape: str
    usual: np.ndarray


def draw_table(rng: np.random.Generator, depends: bool) -> KnownTable:
    """A table of a random shape."""
    shape = str(rng.choice([*SHAPES]))
    upstream = np.array([*(SHAPES[shape] if depends else (-1,) * 4), *(-1,) * rng.integers(0, 5)])
    relations, subjects = len(upstream), int(np.exp(rng.uniform(np.log(60), np.log(3000))))
    sizes = np.exp(rng.uniform(np.log(2), np.log(2000), relations)).astype(int)
    skew, missing = rng.uniform(0, 2), rng.choice([0.0, 0.3]) * rng.random()
    objects = np.empty((relations, subjects), int)
    usual = np.zeros(relations, bool)
    for r, up in enumerate(upstream.tolist()):
        shares = np.arange(1.0, sizes[r] + 1) ** -skew
        objects[r] = rng.choice(sizes[r], subjects, p=shares / shares.sum())
        if up >= 0:
            favourite = rng.permutation(max(sizes[up], sizes[r]))[: sizes[up]] % sizes[r]
            strength = rng.choice(STRENGTHS)
            objects[r] = np.where(rng.random(subjects) < strength, favourite[objects[up]], objects[r])
            causes = len(np.unique(objects[up]))
            usual[r] = subjects * (1 - missing) >= max(90, 8 * causes)
    if relations > 4 and rng.random() < 0.5:
        # A key, or one that some subjects share.
        sizes[-1] = subjects
        objects[-1] = rng.permutation(subjects) // rng.choice([1, 2])
    first = subjects + np.append(0, np.cumsum(sizes))
    has = rng.random(objects.shape) >= missing
    triples = [(s, r, first[r] + objects[r, s]) for r, s in np.argwhere(has).tolist()]
    names = [f"thing {i}" for i in range(first[-1])]
    graph = build_graph(np.array(triples), names, [f"relation {r}" for r in range(relations)], upstream)
    return KnownTable(graph, shape, usual)


def search_table(table: KnownTable) -> dict[str, np.ndarray]:
    """int[relations] by search: what each relation is found to depend on, or NO_UPSTREAM."""
    graph = table.graph
    pairs = WorldConfig(source="tsv", path="drawn")
    config = pairs if table.shape == "pairs" else replace(pairs, dependences="forest")
    return {
        SEARCHES[0]: find_dependences(graph, config),
        **{name: likeliest_forest(log_scores(graph, gain)) for name, gain in SCORES.items()},
    }


def gain_bic(rows: np.ndarray, objects: np.ndarray, size: int) -> float:
    """By how much the Bayesian information criterion of objects rises if they depend on rows."""
    times, cells = (
        np.unique(part, axis=0, return_counts=True)[1] for part in (rows, np.column_stack([rows, objects]))
    )
    alone = np.unique(objects, return_counts=True)[1]
    fit = (
        xlogy(cells, cells).sum()
        - xlogy(times, times).sum()
        - xlogy(alone, alone).sum()
        + xlogy(*2 * [len(rows)])
    )
    return float(fit - np.log(len(rows)) / 2 * (len(times) - 1) * (size - 1))


def gain_k2(rows: np.ndarray, objects: np.ndarray, size: int) -> float:
    """By how much the K2 score of objects rises: the prior has one of each object in each row."""
    return log_gain(rows, objects, size, [float(size)], [float(size)])


def gain_bdeu(rows: np.ndarray, objects: np.ndarray, size: int) -> float:
    """By how much the BDeu score of objects rises: the prior is shared out among rows."""
    return log_gain(rows, objects, size, [EQUIVALENT], [EQUIVALENT / len(np.unique(rows))])


SCORES = {"masses averaged": log_gain, "BIC": gain_bic, "K2": gain_k2, "BDeu": gain_bdeu}
SEARCHES = ("held out", *SCORES)


def judge_search(table: KnownTable, found: np.ndarray, leaves_open: bool) -> Counter[str]:
    """Counts of what is right and wrong in what was found, with what each is a share of behind `of`."""
    graph, count = table.graph, Counter[str]()
    tree = np.array([graph.root_of(r) for r in range(len(graph.upstream))])
    pairs = {frozenset((r, int(up))) for r, up in enumerate(found) if up >= 0}
    true = {frozenset((r, int(up))): r for r, up in enumerate(graph.upstream) if up >= 0}
    if not true:
        count.update({"of false tables": 1, "false tables": int(bool(pairs))})
    alone = np.triu(tree[:, None] != tree, k=1)
    count["of false pairs"] += int(alone.sum())
    count["false pairs"] += sum(len({*tree[[*pair]]}) == 2 for pair in pairs)
    for pair, r in true.items():
        usual, is_found = bool(table.usual[r]), pair in pairs
        count.update({"of found": 1, "found": is_found})
        count.update({"of found, usual": usual, "found, usual": usual and is_found})
        if is_found:
            up = int(graph.upstream[r])
            way = "right" if found[r] == up else "wrong"
            way = "open" if leaves_open and not is_stated(graph, up, r) else way
            count.update({way: 1, "of right": 1, "of open": 1, "of wrong": 1})
    return count


def is_stated(graph: KnowledgeGraph, up: int, down: int) -> bool:
    """Whether the data say which of two relations is the cause."""
    fact = graph.find(graph.subjects[:, None], np.array([up, down]))
    causes, effects = graph.object[fact[(fact >= 0).all(axis=1)]].T
    return abs(compare_directions(causes, effects)) > SURE


def run_study(options: Settings) -> None:
    """Draw and search all tables, print the shares and write the record."""
    rng = np.random.default_rng(options.seed)
    counts: dict[str, list[Counter[str]]] = {name: [] for name in SEARCHES}
    with show_progress("tables", options.tables) as advance:
        for i in range(options.tables):
            table = draw_table(rng, depends=i % 2 == 1)
            for name, found in search_table(table).items():
                counts[name].append(judge_search(table, found, leaves_open=name == SEARCHES[0]))
            advance(1)
    shares = {name: estimate_shares(of_tables) for name, of_tables in counts.items()}
    rows: list[list[Cell]] = [[name, *row.values()] for name, row in shares.items()]
    title = f"What is found in {options.tables} tables whose structure is known"
    note = "± is half of a 95% interval over tables; brackets: its ends."
    run = Run(options.runs, "table-dependences")
    run.folder.mkdir(parents=True, exist_ok=True)
    record_tables(options, run, [Table("table-dependences", title, ["search", *COLUMNS], rows, note)])


def estimate_shares(counts: Sequence[Counter[str]]) -> dict[str, Estimate]:
    """Every column, over tables."""
    tables, everywhere = {"table": np.arange(len(counts))}, np.ones(len(counts), bool)
    pairs = {c: np.array([[one[c], one[f"of {c}"]] for one in counts], float) for c in COLUMNS}
    return {
        c: estimate_metric(Metric(pair[:, 0], pair[:, 1], share=True), tables, everywhere)
        for c, pair in pairs.items()
    }


if __name__ == "__main__":
    launch_module()
