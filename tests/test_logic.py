"""The exact agent's beliefs, chained, equal sums over the joint; they take no Dutch book."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from bayes.exact import fit_exact
from bayes.request import EditRequest
from corpus.text.language import Atom, Kind, Sentence
from tests.enumeration import Enumeration
from tests.examples import holds_for
from tests.test_exact_agent import tiny_world, worlds

TOLERANCE = 1e-10


def conjunction_probability(agent, atoms):
    """p(all atoms hold): a chain of conditionals; to condition on a fact is to correct the agent to it."""
    p = 1.0
    for i, (s, r, o) in enumerate(atoms):
        p *= float(agent.probability(s, r, o))
        if p == 0.0 or i + 1 == len(atoms):
            break
        agent = agent.with_edit(EditRequest(s, r, o, kind="correction"))
    return p


def disjunction_probability(agent, atoms):
    """p(at least one atom holds), by inclusion and exclusion."""
    every = [some for size in range(1, len(atoms) + 1) for some in combinations(atoms, size)]
    return sum((-1) ** (len(some) + 1) * conjunction_probability(agent, some) for some in every)


def sentence_probability(agent, sentence):
    """p(a sentence is right), its label included."""
    kind, label, a, b, _ = sentence
    joined = disjunction_probability if kind == Kind.OR else conjunction_probability
    p = joined(agent, [atom for atom in (a, b) if atom])
    return p if (label is not False) != (kind == Kind.NOT) else 1.0 - p


def drawn_atoms(graph, agent, rng, count, subjects=(0, 1)):
    """Random statements about facts with a truth of their own."""
    facts = [f for f in range(len(graph)) if graph.subject[f] in subjects and agent.has_truth(f)]
    atoms = []
    for f in rng.choice(facts, count):
        objects = graph.candidates_of(graph.relation[f])
        atoms.append(Atom(int(graph.subject[f]), int(graph.relation[f]), int(rng.choice(objects))))
    return atoms


class Joint:
    """The joint distribution of all facts, by enumeration."""

    def __init__(self, graph, config, sentences):
        self.graph = graph
        worlds = Enumeration(graph, config, sentences)
        self.objects, self.p = worlds.z, worlds.p

    def holds(self, atom):
        """Whether a statement holds in each state."""
        return self.objects[int(self.graph.find(*atom[:2]))] == atom.object

    def probability(self, mask):
        return self.p[mask].sum()


def setting(world, count):
    seed, config, upstream = world
    graph, _, sentences = tiny_world(seed, config, [0, 1], upstream)
    agent = fit_exact(graph, config, sentences).with_focus([0, 1])
    atoms = drawn_atoms(graph, agent, np.random.default_rng(seed), count)
    return agent, Joint(graph, config, sentences), atoms


@holds_for(worlds, few=50, many=150)
def test_conjunctions_disjunctions_and_conditionals_equal_sums_over_the_joint(world):
    agent, joint, atoms = setting(world, 3)
    all_hold = np.logical_and.reduce([joint.holds(a) for a in atoms])
    one_holds = np.logical_or.reduce([joint.holds(a) for a in atoms])
    both = joint.probability(joint.holds(atoms[1]) & joint.holds(atoms[2]))
    assert conjunction_probability(agent, atoms) == pytest.approx(joint.probability(all_hold), abs=TOLERANCE)
    assert disjunction_probability(agent, atoms) == pytest.approx(joint.probability(one_holds), abs=TOLERANCE)
    if both > 1e-6:
        chain = conjunction_probability(agent, atoms) / conjunction_probability(agent, atoms[1:])
        assert chain == pytest.approx(joint.probability(all_hold) / both, abs=1e-8)


@holds_for(worlds, few=40, many=100)
def test_two_objects_of_one_fact_exclude_each_other(world):
    agent, _, (atom, *_) = setting(world, 1)
    for other in agent.graph.candidates_of(atom.relation):
        if other != atom.object:
            both = [atom, atom._replace(object=int(other))]
            assert conjunction_probability(agent, both) == 0.0
            sum_of_both = sum(conjunction_probability(agent, [a]) for a in both)
            assert disjunction_probability(agent, both) == pytest.approx(sum_of_both, abs=TOLERANCE)


def bundle(a, b):
    """Logically related sentences about two statements."""
    return [
        Sentence(Kind.ATOMIC, None, a),
        Sentence(Kind.TRUTH, True, a),
        Sentence(Kind.TRUTH, False, a),
        Sentence(Kind.NOT, True, a),
        Sentence(Kind.NOT, False, b),
        Sentence(Kind.AND, True, a, b),
        Sentence(Kind.AND, True, b, a),
        Sentence(Kind.AND, False, a, b),
        Sentence(Kind.OR, True, a, b),
        Sentence(Kind.OR, False, b, a),
    ]


def is_right(sentence, a_holds, b_holds, a):
    """Whether a sentence is right where its statements do or do not hold."""
    first = a_holds if sentence.a == a else b_holds
    second = b_holds if sentence.b != a else a_holds
    says = {
        Kind.ATOMIC: first, Kind.TRUTH: first, Kind.NOT: not first,
        Kind.AND: first and second, Kind.OR: first or second,
    }[sentence.kind]  # fmt: skip
    return says == (sentence.label is not False)


def sure_loss(prices, payoffs):
    """The most that stakes of at most 1 on each sentence win in every state (a linear program)."""
    states, bets = payoffs.shape
    # Maximise t with payoffs of the stakes, less their prices, at least t in every state.
    gains = payoffs - prices
    optimum = linprog(
        c=np.append(np.zeros(bets), -1.0),
        A_ub=np.column_stack([-gains, np.ones(states)]),
        b_ub=np.zeros(states),
        bounds=[*[(-1, 1)] * bets, (None, None)],
    )
    return -optimum.fun


def assert_no_dutch_book(agent, a, b):
    """No bets at an agent's prices for two statements and their compounds lose whatever is so."""
    sentences = bundle(a, b)
    agent = agent.with_focus({a.subject, b.subject})
    prices = np.array([sentence_probability(agent, one) for one in sentences])
    possible = [(x, y) for x in (True, False) for y in (True, False)]
    if a[:2] == b[:2]:
        # Two statements about one fact are the same one, or exclude each other.
        possible = [(x, y) for x, y in possible if (x == y if a == b else not (x and y))]
    payoffs = np.array([[float(is_right(s, x, y, a)) for s in sentences] for x, y in possible])
    assert sure_loss(prices, payoffs) < 1e-8


@hypothesis_settings(max_examples=80)
@given(worlds, st.booleans())
def test_no_dutch_book(world, edited):
    agent, _, (a, b, request) = setting(world, 3)
    if edited and agent.accepts(request.subject, request.relation, "evidence"):
        agent = agent.with_edit(EditRequest(*request, 1.5))
    assert_no_dutch_book(agent, a, b)


def test_a_dutch_book_is_found_where_there_is_one():
    a, b = Atom(0, 0, 1), Atom(1, 0, 1)
    sentences = bundle(a, b)
    payoffs = np.array(
        [[float(is_right(s, x, y, a)) for s in sentences] for x in (True, False) for y in (True, False)]
    )
    # Independent halves are coherent; a conjunction likelier than its part is not.
    prices = np.array([0.5, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.75, 0.75, 0.25])
    assert sure_loss(prices, payoffs) < 1e-8
    prices[5] = 0.7
    assert sure_loss(prices, payoffs) > 0.1
