"""Relations with several objects: what becomes of a subject's set when an object is added, or taken out?

Each object that may be in a set is a fact of its own, yes or no (`corpus.worlds.members`). So a case about
one of them asks of the others, too, and its questions about the set are one group: ADDS, TAKES, or REPLACES,
where an object joins and another one leaves. Metrics are the same of all: of which objects does the model
believe what the request says of one, or of the one that joins?
"""

from collections.abc import Collection, Sequence

import numpy as np

from bayes.request import EditRequest
from corpus.graph import KnowledgeGraph
from corpus.worlds.members import ANSWERS, find_sets
from testbed.engine.results import Results
from testbed.evaluations.gold import Pair
from testbed.protocol import Choice
from testbed.scores.metric import DISTANCE, Metric, MetricDefinition, mean_of
from testbed.scores.readers import Answers, is_as_good

ADDS, TAKES, REPLACES = "adds to a set", "takes out of a set", "replaces in a set"
GROUPS = (ADDS, TAKES, REPLACES)
MOST = 24
"""Objects of a set, beside the request's own, that a case asks of."""


class SetSampler:
    """Draws questions about a subject's sets, and puts them in groups.

    Args:
        truth: int[facts], the true object of each.
        rng: for sets of more than MOST objects.
    """

    def __init__(self, graph: KnowledgeGraph, truth: np.ndarray, rng: np.random.Generator) -> None:
        self._graph, self._truth, self._rng = graph, truth, rng
        sets = [[*members.values()] for members in find_sets(graph).values()]
        self._set_of = {r: relations for relations in sets for r in relations}

    def relations_of_set(self, relation: int) -> Sequence[int]:
        """The relations that ask of each object of the set that one of them is of; none of what is no set."""
        return self._set_of.get(relation, ())

    def draw_others(self, s: int, r: int, known: Collection[Pair]) -> list[Pair]:
        """Facts about other objects of the set that (s, r) is of: those that s has, then others at random.

        Args:
            known: facts that are asked anyway.
        """
        others = [d for d in self.relations_of_set(r) if d != r and (s, d) not in known]
        facts = self._graph.find(s, self._rng.permutation(others).astype(int))
        has = [self._graph.entities[o] == ANSWERS[0] for o in self._truth[facts].tolist()]
        order = [f for f in facts[np.argsort(np.logical_not(has), kind="stable")].tolist() if f >= 0]
        return [(s, int(self._graph.relation[fact])) for fact in order[:MOST]]

    def group_choices(self, request: EditRequest, choices: Sequence[Choice]) -> tuple[Choice, ...]:
        """The same choices; those about the set that a request changes have what it does as their group."""
        relations = self.relations_of_set(request.relation)
        adds = self._graph.entities[request.object] == ANSWERS[0]
        group = REPLACES if request.further else ADDS if adds else TAKES
        return tuple(
            c._replace(group=group)
            if c.subject == request.subject and c.relation in relations and not c.is_spot_check
            else c
            for c in choices
        )


def make_set_subsets(results: Results) -> dict[str, np.ndarray]:
    """bool[E] of the requests that add to a set, take out of one, or replace in one, where there are any."""
    c = results.choices
    masks = {name: np.bincount(c.case[c.group == name], minlength=len(results)) > 0 for name in GROUPS}
    return {name: mask for name, mask in masks.items() if mask.any()}


def define_set_metrics(request: str, *further: str) -> tuple[MetricDefinition, ...]:
    """The metrics of sets, for an evaluation whose questions about requested facts have these roles."""

    def others_right(a: Answers) -> Metric:
        return a.mean_over(a.is_right, _is_of_set(a) & ~a.has_role(request, *further))

    return (
        MetricDefinition(
            "set.others", "The set's other objects, which a request neither adds nor takes out: share of "
            "answers that are the agent's.", "high", compute=others_right, label="set's other objects",
        ),
        MetricDefinition(
            "set.likeliest", "Share of requests whose object is among the set's likeliest after the edit, as "
            "many as the agent's set has; or, if taken out, among the least likely.", "high",
            compute=lambda a: _is_likeliest(a, request), needs_edit=True, label="among the set's likeliest",
        ),
        MetricDefinition(
            "set.share", "Of the probability that objects are in the set (after a request to take out: that "
            "they are not), summed over objects, the share on those of which the agent, too, believes it.",
            "high", compute=_share_of_probability, label="probability on the set",
        ),
        MetricDefinition(
            "set.tv", "Total variation between the beliefs of model and agent about objects of the set; 0 is "
            "equal.", "low",
            compute=lambda a: a.mean_over(a.distance, _is_of_set(a))._replace(limits=DISTANCE),
            label="distance, set",
        ),
    )  # fmt: skip


def _is_of_set(a: Answers) -> np.ndarray:
    """bool[N]: the choices about the set that their case's request changes."""
    return a.once("of a set", lambda: np.isin(a.choices.group, GROUPS))


def _as_requested(a: Answers) -> np.ndarray:
    """float64[N]: the reader's probability of the requested answer."""
    return a.reader.probability.sum(axis=-1, where=a.choices.options == a.requested[:, None])


def _share_of_probability(a: Answers) -> Metric:
    p, agrees = _as_requested(a), is_as_good(a.choices, a.requested, a.reader.time)
    return a.ratio_over(p * agrees, p, _is_of_set(a))._replace(limits=DISTANCE)


def _is_likeliest(a: Answers, request: str) -> Metric:
    p, case, cases = _as_requested(a), a.choices.case, len(a.results)
    of_set, agrees = _is_of_set(a), is_as_good(a.choices, a.requested, a.reader.time)
    own = np.zeros(cases)
    asks_itself = of_set & a.has_role(request)
    own[case[asks_itself]] = p[asks_itself]
    before, size = (
        np.bincount(case[among], minlength=cases) for among in (of_set & (p > own[case]), of_set & agrees)
    )
    return mean_of(before < size, np.bincount(case[asks_itself], minlength=cases) > 0)
