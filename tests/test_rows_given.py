"""An agent that is told the rows: every person a tree of its own, exact however much is hidden."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.sparse import csr_array

from bayes.exact import fit_exact
from bayes.known import DrawnState
from bayes.request import EditRequest
from corpus.config import ExactConfig, PeopleWorld, TaxonomyWorld, WorldConfig
from corpus.errors import InputError
from corpus.exact import draw_world, sample_exact
from corpus.graph import build_graph
from corpus.rows import Rows, pack_rows, rows_of
from corpus.world import build_world
from corpus.worlds.people import CITIZENSHIP, EDITED, RACE, find_relation
from tests.enumeration import Enumeration
from tests.examples import holds_for
from tests.test_exact_agent import belief, beliefs, edit, facts_of, request

GIVEN = ExactConfig(rows="given", noise=0.2, row_mass=0.5, root_mass=1.0, strata=(0.3, 0.3, 0.4))
PEOPLE = replace(GIVEN, logical=0.0)
seeds = st.integers(0, 10**6)
# Two to four people with a hidden group of three children; or two with a grandchild.
SHAPES = (((-1, 0, 0, 0), 4), ((-1, 0, 0, 0), 2), ((-1, 0, 0, 1), 3), ((-1, 0, 1, 2), 2))


def hidden(seed, config=GIVEN, shape=None):
    """People of whom everything but the first relation is spoken of, sometimes; the rows are random."""
    rng = np.random.default_rng(seed)
    upstream, people = shape or SHAPES[seed % len(SHAPES)]
    # Two groups where there are four people: their worlds are enumerated.
    sizes = [2 + (people < 4), *(2 for _ in upstream[1:])]
    first = people + np.cumsum([0, *sizes])
    triples = [(s, r, rng.integers(first[r], first[r + 1])) for s in range(people) for r in range(len(sizes))]
    graph = build_graph(
        np.array(triples),
        [f"e{i}" for i in range(first[-1])],
        [f"r{r}" for r in range(len(sizes))],
        np.array(upstream),
        candidates=[np.arange(first[r], first[r + 1]) for r in range(len(sizes))],
        silent=np.array([r == 0 for _, r, _ in triples]),
    )
    rows = [
        Rows(rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), sizes[up]) if up >= 0 else None)
        for k, up in zip(sizes, upstream, strict=True)
    ]
    graph = replace(graph, rows=pack_rows(rows))
    graph, model = draw_world(graph, config, rng, redraw=False)
    return graph, sample_exact(graph, model, config, rng)[0]


def assert_equals(agent, every):
    wanted = every.posterior()
    for fact in range(len(agent.graph)):
        np.testing.assert_allclose(belief(agent, fact), [*wanted[fact].values()], rtol=0, atol=1e-10)


@holds_for(seeds, st.integers(0, 2), few=20, many=150)
def test_beliefs_and_edits_where_the_group_is_hidden_equal_enumeration(seed, count):
    graph, sentences = hidden(seed)
    agent = fit_exact(graph, GIVEN, sentences)
    agent, extra = edit(np.random.default_rng(seed), agent, range(len(graph)), count)
    assert_equals(agent, Enumeration(graph, GIVEN, sentences, extra))


@holds_for(seeds, st.sampled_from([1.0, 0.6]), few=12, many=80)
def test_a_change_under_a_hidden_group_equals_enumeration(seed, redraw):
    graph, sentences = hidden(seed)
    rng = np.random.default_rng(seed)
    agent, changed = fit_exact(graph, GIVEN, sentences), int(rng.choice(facts_of(graph, [0])))
    place = int(rng.integers(agent.known.count_candidates(changed)))
    value = int(graph.candidates_of(int(graph.relation[changed]))[place])
    every = Enumeration(graph, GIVEN, sentences)
    moved = every.after_do(changed, value, redraw)
    agent = agent.with_edit(request(agent, changed, place, kind="do", redraw=redraw))
    for fact, wanted in (every.posterior() | moved).items():
        np.testing.assert_allclose(belief(agent, fact), [*wanted.values()], rtol=0, atol=1e-10)


@holds_for(seeds, few=6, many=30)
def test_given_rows_are_what_learned_ones_come_to(seed):
    """Counts of M times the rows, and nobody resolved, in an agent that learns: the same, as M grows."""
    graph, sentences = hidden(seed, PEOPLE, SHAPES[1 + seed % 3])
    told, learning = fit_exact(graph, PEOPLE, sentences), replace(PEOPLE, rows="learned")
    rows = rows_of(graph, PEOPLE)
    largest = []
    for many in (1e2, 1e5, 1e8):
        counts = {r: csr_array(many * one.table) for r, one in enumerate(rows) if one.table is not None}
        drawn = {r: DrawnState(c, c.T.tocsr(), np.full(c.shape[0], many)) for r, c in counts.items()}
        shares = {r: many * one.shares for r, one in enumerate(rows)}
        known = replace(told.known, config=learning, rows=drawn, roots=shares)
        agents = [replace(told, known=known), told]
        for kind in ("correction", "do"):
            fact = int(graph.find(0, 1))
            agents += [agent.with_edit(request(agent, fact, 0, kind=kind)) for agent in agents[:2]]
        # Everybody else's answers sum over the edited one's states where rows are learned; all are asked.
        differences = [
            np.abs(p - q).max()
            for one, other in zip(agents[::2], agents[1::2], strict=True)
            for p, q in zip(beliefs(one), beliefs(other), strict=True)
        ]
        largest.append(max(differences))
    assert largest[2] < 1e-6
    assert largest[2] < largest[1] + 1e-9 < largest[0] + 1e-8


@holds_for(seeds, few=10, many=60)
def test_nobody_else_moves_at_all(seed):
    graph, sentences = hidden(seed)
    agent = fit_exact(graph, GIVEN, sentences)
    edited, _ = edit(np.random.default_rng(seed), agent, facts_of(graph, [0]), 2)
    for fact in facts_of(graph, range(1, len(graph.subjects))):
        np.testing.assert_array_equal(belief(edited, fact), belief(agent, fact))


# The same in worlds of people.


def people(seed=0, config=PEOPLE, subjects=60, **dials):
    graph = build_world(
        WorldConfig(source="people", subjects=subjects, people=PeopleWorld(**dials)), seed, True
    )
    rng = np.random.default_rng(seed)
    graph, model = draw_world(graph, config, rng, redraw=False)
    sentences, resolution = sample_exact(graph, model, config, rng)
    return fit_exact(graph, config, sentences), model, resolution


def dense(agent):
    return agent.distributions(agent.graph.subject, agent.graph.relation)


def test_frequency_changes_no_gold_to_the_last_bit():
    agents = [people(said=0.5, spoken=how, often=often)[0] for how, often in (("alike", 1), ("crossed", 9))]
    assert (agents[0].graph.frequency != agents[1].graph.frequency).any()
    np.testing.assert_array_equal(*map(dense, agents))
    s = int(agents[0].graph.subjects[0])
    r = find_relation(agents[0].graph, CITIZENSHIP)
    for target in agents[0].graph.candidates_of(r)[:3].tolist():
        asked = EditRequest(s, r, target, 3.0)
        np.testing.assert_array_equal(*(dense(agent.with_edit(asked)) for agent in agents))


@pytest.mark.parametrize("shift", [0.0, 0.9])
def test_a_citizenship_edit_moves_the_hidden_group_where_groups_differ_and_no_other_root(shift):
    agent, _, _ = people(said=0.0, shift=shift)
    graph, r = agent.graph, find_relation(agent.graph, CITIZENSHIP)
    roots = np.flatnonzero(graph.upstream_fact < 0)
    before = agent.distributions(graph.subject[roots], graph.relation[roots])
    moved = 0.0
    for s in graph.subjects[:8].tolist():
        held = agent.predict(s, r).mode()
        for kind in ("evidence", "correction", "do"):
            target = next(o for o in graph.candidates_of(r).tolist() if o != held)
            edited = agent.with_edit(EditRequest(s, r, target, 5.0, kind))
            after = edited.distributions(graph.subject[roots], graph.relation[roots])
            own_group = (graph.subject[roots] == s) & (graph.relation[roots] == find_relation(graph, RACE))
            np.testing.assert_array_equal(after[~own_group], before[~own_group])
            moved = max(moved, np.abs(after[own_group] - before[own_group]).max())
    assert moved < 1e-12 if shift == 0 else moved > 0.05


@holds_for(seeds, few=4, many=25)
def test_where_rows_are_learned_others_move_by_one_in_n_at_most(seed):
    """n: draws of the row by others than the one edited and the one asked about."""
    agent, model, _ = people(seed, replace(PEOPLE, rows="learned", strata=(0.5, 0.0, 0.5)), 40)
    graph, rng = agent.graph, np.random.default_rng(seed)
    known, s = model.statements > 0, int(rng.choice(graph.subjects))
    # What is stated does not move; of the rest, some.
    others = rng.permutation(np.flatnonzero(~known & (graph.subject != s)))[:12]
    before = agent.distributions(graph.subject[others], graph.relation[others])
    for name in EDITED:
        r = find_relation(graph, name)
        held = int(graph.object[graph.find(s, r)])
        target = int(rng.choice([o for o in graph.candidates_of(r).tolist() if o != held]))
        for kind in ("correction", "do"):
            if not agent.accepts(s, r, kind):
                continue
            edited = agent.with_edit(EditRequest(s, r, target, kind=kind))
            after = edited.distributions(graph.subject[others], graph.relation[others])
            for fact, p, q in zip(others.tolist(), before, after, strict=True):
                row, same = graph.upstream_fact[fact], graph.relation == graph.relation[fact]
                if row >= 0:
                    same &= model.truth[graph.upstream_fact] == model.truth[row]
                n = int((same & known & ~np.isin(graph.subject, (s, graph.subject[fact]))).sum())
                moved = np.abs(p - q).sum() / 2
                assert moved < 1e-5 or (kind == "correction" and moved <= 1 / max(n, 1))


def test_the_hidden_group_is_recovered_from_the_other_facts():
    agent, model, resolution = people(subjects=300, said=0.0)
    graph, race = agent.graph, find_relation(agent.graph, RACE)
    facts = np.flatnonzero(graph.relation == race)
    modes = [agent.predict(int(s), race).mode() for s in graph.subject[facts]]
    assert (np.array(modes) == model.truth[facts]).mean() > 0.8
    assert not resolution.certified.any()
    assert resolution.bound.sum() == 0


def test_hidden_groups_need_the_rows():
    with pytest.raises(InputError, match="tell the agent the rows"):
        people(said=0.5, config=replace(GIVEN, rows="learned"))
    with pytest.raises(ValueError, match="persistence fact"):
        ExactConfig(rows="given", persistence="sentence")


def test_rows_that_nobody_knows_are_what_all_facts_tell():
    agent, model, _ = people(said=0.0)
    graph = replace(agent.graph, rows=np.empty(0))
    for r, (shares, table) in enumerate(rows_of(graph, GIVEN)):
        objects, mine = graph.candidates_of(r).tolist(), np.flatnonzero(graph.relation == r)
        if table is None:
            wanted = [(GIVEN.root_mass / len(objects) + (model.truth[mine] == o).sum()) for o in objects]
            np.testing.assert_allclose(shares, np.array(wanted) / (GIVEN.root_mass + len(mine)))
            continue
        for row, above in zip(table, graph.candidates_of(int(graph.upstream[r])).tolist(), strict=True):
            held = model.truth[mine[model.truth[graph.upstream_fact[mine]] == above]]
            wanted = [GIVEN.row_mass / len(objects) + (held == o).sum() for o in objects]
            np.testing.assert_allclose(row, np.array(wanted) / (GIVEN.row_mass + len(held)))


def test_what_a_category_lacks_tells_of_no_row():
    dials = TaxonomyWorld(superordinates=1, categories=3, properties=3, has=0.5, shares=0.0)
    graph = build_world(WorldConfig(source="taxonomy", taxonomy=dials), 0, True)
    assert graph.silent.any()
    for r, (_, table) in enumerate(rows_of(graph, GIVEN)):
        silent = graph.relation[graph.silent] == r
        if table is None or not silent.any():
            continue
        lacking = np.unique(graph.object[graph.upstream_fact[np.flatnonzero(graph.silent)[silent]]])
        for category in lacking:
            row = table[np.searchsorted(graph.candidates_of(int(graph.upstream[r])), category)]
            np.testing.assert_allclose(row, 1 / len(row))


def test_rows_of_another_world_are_refused():
    graph = people()[0].graph
    with pytest.raises(InputError, match="build it again"):
        rows_of(replace(graph, rows=graph.rows[:-1]), GIVEN)
    with pytest.raises(InputError, match="not a distribution"):
        rows_of(replace(graph, rows=2 * graph.rows), GIVEN)
