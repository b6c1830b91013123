"""Probabilities of compound statements, from the exact agent's joint distribution.

A conjunction is a chain of conditionals, p(A and B) = p(A) p(B | A), where to condition on A is to correct
the agent to A. Everything else follows: a disjunction by inclusion and exclusion, a conditional as a ratio.
All subjects that a question names are in the agent's focus, so that the answers to one question are
probabilities under one joint distribution.
"""

from collections.abc import Sequence
from itertools import combinations

from bayes.exact import ExactAgent
from bayes.request import EditRequest
from corpus.errors import InputError
from corpus.text.language import Atom, Kind, Sentence

MOST_ATOMS = 12


def sentence_probabilities(agent: ExactAgent, sentences: Sequence[Sentence]) -> list[float]:
    """p(the sentence is right | evidence, edits) of each sentence, label included, from one joint.

    "not A" is true is right where A does not hold; "A and B" is false where not both hold; an atomic
    sentence where its fact holds.

    Raises:
        InputError: a kind of sentence that states nothing, a fact without a truth of its own, a subject
            that changed, or too many states.
    """
    named = [atom for s in sentences for atom in (s.a, s.b) if atom]
    agent = agent.with_focus({atom.subject for atom in named})
    probabilities = []
    for kind, label, a, b, _ in sentences:
        if kind in (Kind.ATOMIC, Kind.TRUTH, Kind.NOT):
            p = _multiply_out(agent, [a])
        elif kind in (Kind.AND, Kind.OR) and b:
            p = _multiply_out(agent, [a, b]) if kind == Kind.AND else _include_and_exclude(agent, [a, b])
        else:
            raise InputError(f"a sentence of kind {kind.name.lower()} states nothing that could hold")
        says = (label is not False) != (kind == Kind.NOT)
        probabilities.append(p if says else 1.0 - p)
    return probabilities


def conjunction_probability(agent: ExactAgent, atoms: Sequence[Atom]) -> float:
    """p(all atoms hold | evidence, edits); 1 for none."""
    return _multiply_out(agent.with_focus({a.subject for a in atoms}), atoms)


def disjunction_probability(agent: ExactAgent, atoms: Sequence[Atom]) -> float:
    """p(at least one atom holds | evidence, edits), by inclusion and exclusion; 0 for none.

    Raises:
        InputError: more than MOST_ATOMS atoms, whose subsets would be too many.
    """
    return _include_and_exclude(agent.with_focus({a.subject for a in atoms}), atoms)


def conditional_probability(agent: ExactAgent, atom: Atom, given: Sequence[Atom]) -> float:
    """p(atom holds | all of `given` hold, evidence, edits).

    Raises:
        InputError: `given` cannot hold.
    """
    agent = agent.with_focus({a.subject for a in (atom, *given)})
    known = _multiply_out(agent, given)
    if known == 0.0:
        raise InputError("what is given has probability 0, so nothing follows from it")
    return _multiply_out(agent, [*given, atom]) / known


def _multiply_out(agent: ExactAgent, atoms: Sequence[Atom]) -> float:
    p = 1.0
    for i, (s, r, o) in enumerate(atoms):
        if not agent.has_truth(int(agent.graph.find(s, r))):
            raise InputError(f"{agent.name_ids(s, r)!r} is drawn anew for every statement, so it cannot hold")
        p *= float(agent.probability(s, r, o))
        if p == 0.0:
            return 0.0
        if i + 1 < len(atoms):
            agent = agent.with_edit(EditRequest(s, r, o, kind="correction"))
    return p


def _include_and_exclude(agent: ExactAgent, atoms: Sequence[Atom]) -> float:
    if len(atoms) > MOST_ATOMS:
        raise InputError(f"a disjunction of {len(atoms)} atoms is more than {MOST_ATOMS}")
    return sum(
        (-1) ** (size + 1) * _multiply_out(agent, some)
        for size in range(1, len(atoms) + 1)
        for some in combinations(atoms, size)
    )
