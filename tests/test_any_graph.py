"""Worlds as they are go all the way, from corpus to report, and say what they can show."""

from dataclasses import replace

import numpy as np
import pytest

from corpus.config import WorldConfig
from corpus.graph import build_graph
from corpus.worlds.pairing import find_dependences, weigh_dependences
from testbed import ask, corpus, edit, report, train
from testbed.run.runs import Run
from testbed.run.world import load_world
from testbed.world_tables import judged_share
from tests.runs import RECIPE, at
from tests.worlds import make_world

SCRIPTS = (
    "\u6771\u4eac", "\u041c\u043e\u0441\u043a\u0432\u0430", "\u0627\u0644\u0642\u0627", "\u00c5rhus",
    "\U0001f600", "or", "Not", "is true.", '"Q"', r"$\bad$", "music",
)  # fmt: skip
EDITS = ["--cases.count", "4", "--lora-down.steps", "3"]


def nasty(path, subjects=40, relations=100, seed=0):
    """A table with most that is awkward: rare relations, lone objects and subjects, clashes, every script."""
    rng = np.random.default_rng(seed)
    lines = []
    for i in range(subjects):
        name = f"{SCRIPTS[i % len(SCRIPTS)]} {i}" if i % 3 else f"music {i} genre"
        place, friend = f"{SCRIPTS[i % 4]}", f"music {rng.integers(subjects)}"
        lines += [f"{name}\tborn in\t{place}", f"{name}\tcitizen of\t{place} land", f"{name}\tgenre\tmusic"]
        lines += [f"{name}\tgenre of\tlone {i}", f"{name}\tknows\t{friend}", f"{name}\tborn in\tsecond"]
        lines.append(f"{name}\trelation {rng.integers(relations)}\tthing {rng.integers(5)}")
        lines.append(f"lonely {i}\tborn in\t{place}")
    lines += ["or\tknows\tNot", "or\tgenre\tis true", "Not\tknows\tor", "Not\tgenre\trock"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return ["--world.source", "tsv", "--world.path", str(path)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "tokenizer", "found"),
    [
        ("published", "entity", ("pairs", "10")),
        ("published", "bpe", ("pairs", "1000")),
        ("exact", "bpe", ("forest", "10")),
    ],
)
def test_a_nasty_world_goes_all_the_way(kind, tokenizer, found, tmp_path, capsys):
    source = nasty(tmp_path / "nasty.tsv")
    source += [
        "--world.dependences",
        found[0],
        "--world.min-pair-subjects",
        found[1],
        "--tokenizer.kind",
        tokenizer,
    ]
    agent = ["--agent", "exact"] if kind == "exact" else []
    assert corpus.main([*at(tmp_path), *source, "--kind", kind, "--stats"]) == 0
    said = capsys.readouterr().out
    for part in ("left out of", "names were changed", "subjects with one relation", "what edits can show"):
        assert part in said
    assert ("NO DEPENDENCES" in said) == (found == ("pairs", "1000"))
    world = load_world(Run(tmp_path, "x"))
    language = world.tokenizer.language
    for i in range(len(world.sentences)):
        text = language.render(world.sentences[i])
        assert language.parse(text) == world.sentences[i]
        assert world.tokenizer.decode(world.tokenizer.encode(text)) == text
    assert train.main([*at(tmp_path), *RECIPE, "--train.row-length", "400"]) == 0
    assert edit.main([*at(tmp_path), *EDITS, *agent]) == 0
    graph = world.graph
    question = f"{graph.entities[graph.subject[0]]} {graph.relations[graph.relation[0]]}"
    assert ask.main([question, *at(tmp_path), *agent]) == 0
    assert report.main(at(tmp_path)) == 0


def brute_forest(scores):
    """The best forest of all, by trying each."""
    n, best = len(scores), (0.0, (-1,) * len(scores))
    for choice in np.ndindex(*(n + 1,) * n):
        up = [c - 1 for c in choice]
        chain = list(range(n))
        for _ in range(n):
            chain = [up[c] if c >= 0 else -1 for c in chain]
        if all(c < 0 for c in chain):
            best = max(best, (sum(scores[u, d] for d, u in enumerate(up) if u >= 0), tuple(up)))
    return best


@pytest.mark.parametrize("seed", range(6))
def test_the_forest_that_is_found_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    objects = rng.integers(3, size=(60, 4))
    for child, parent in ((1, 0), (2, 1), (3, seed % 3)):
        objects[:, child] = np.where(rng.random(60) < 0.8, objects[:, parent], objects[:, child])
    triples = np.array([(s, r, 60 + 3 * r + objects[s, r]) for s in range(60) for r in range(4)])
    names = [f"e{i}" for i in range(72)]
    graph = build_graph(triples, names, list("abcd"), np.full(4, -1))
    config = WorldConfig(source="tsv", path="x", dependences="forest")
    weights = weigh_dependences(graph, 10)
    upstream = find_dependences(graph, config)
    total = sum(weights[u, d] for d, u in enumerate(upstream) if u >= 0)
    assert total == pytest.approx(brute_forest(weights)[0])
    assert total > 0
    # Where too few subjects have both, nothing is believed.
    assert (find_dependences(graph, replace(config, min_pair_subjects=61)) == -1).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_share_of_edits_by_which_anything_could_be_judged(seed):
    """Request by request, as a slow reader of the sentences counts."""
    world = make_world(subjects=40, seed=seed)
    graph, truth = world.graph, world.generative.truth
    said = {
        tuple(a[1:])
        for a, kind in zip(world.sentences.a.tolist(), world.sentences.kind, strict=True)
        if kind == 0
    }
    shares = []
    for fact in np.flatnonzero(graph.upstream_fact >= 0):
        up, r = graph.upstream_fact[fact], graph.relation[fact]
        others = [f for f in np.flatnonzero(graph.relation == r) if graph.upstream_fact[f] >= 0]
        named = {o for relation, o in said if relation == graph.relation[up]} - {truth[up]}
        judged = 0
        for target in named:
            implied = [truth[f] for f in others if truth[graph.upstream_fact[f]] == target]
            commonest = min(set(implied), key=lambda o: (-implied.count(o), o)) if implied else None
            judged += len(implied) >= 2 and commonest != truth[fact]
        shares.append(judged / len(named))
    assert judged_share(world) == pytest.approx(np.mean(shares))
    assert 0 < np.mean(shares) < 1
