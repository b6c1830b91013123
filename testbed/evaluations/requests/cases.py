"""Claims, each told in every way, with the exact agent's beliefs before and after."""

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from bayes.derived import DerivedAgent
from bayes.exact import ExactAgent
from bayes.interface import Agent
from bayes.request import EditRequest, StatementForm
from corpus.errors import InputError
from corpus.exact import FULLY, NEVER, ExactModel
from corpus.likelihood import has_truths
from corpus.seeds import generator
from corpus.text.hedges import BY_SOURCE, DEGREES, WITH_PROBABILITY, find_phrasing
from corpus.text.language import Atom, Kind, Sentence
from corpus.text.tokenizer import BOS
from testbed.engine.evidence import evidence_of
from testbed.engine.requests import sentences_of
from testbed.evaluations.gold import Gold, Pair, ask_beliefs
from testbed.evaluations.requests import (
    CAUSE,
    CLAIM,
    EFFECT,
    FACT,
    FORMS,
    GRADED,
    OWN,
    PASSAGE,
    RATED,
    SPOT,
    SURE,
    ClaimKind,
    Requests,
)
from testbed.protocol import ABSENT, Case, Choice, Claim, Facet, Passage
from testbed.run.world import World

WORDS: dict[StatementForm, tuple[Kind, str]] = {
    "denial": (Kind.NOT, "--exact.logical above 0"),
    "true": (Kind.TRUTH, "--kind exact"),
    "false": (Kind.TRUTH, "--kind exact"),
    "disjunction": (Kind.OR, "--exact.logical above 0"),
    "replacement": (Kind.TRUTH, "--kind exact"),
}
"""The kind of sentence that says each form, and what gives a corpus such sentences."""
HEDGED: dict[StatementForm, tuple[str, str]] = {
    "source": (BY_SOURCE, "--exact.sources 0.1 0.5 0.9 --exact.said 6"),
    "probability": (WITH_PROBABILITY, "--exact.rated 3"),
}
"""The hedges that say each form, likewise."""
MOST_OWN = 2
"""Further facts of the subject that are asked."""


class Telling(NamedTuple):
    """One way to tell a claim: to an agent, and in words."""

    request: EditRequest
    told: tuple[Sentence, ...]


def make_cases(
    world: World, agent: Agent, count: int, credence: float, evaluation: Requests, seed: int
) -> Iterator[Case]:
    """Claims of each kind in turn, each told in every way.

    Raises:
        InputError: no exact agent, a form that the corpus has no words for, or nothing that can be claimed.
    """
    if not isinstance(agent, ExactAgent | DerivedAgent) or not isinstance(world.generative, ExactModel):
        raise InputError(
            "only an exact agent knows what every kind of request means; write a corpus of --kind exact, "
            "and take --agent exact"
        )
    teller = Teller(world, agent, evaluation, credence)
    drawn = draw_claims(world, agent, evaluation, generator(seed, "requests"))
    rng, made = generator(seed, "requests: others"), 0
    for kind, atom, second in drawn:
        cases = [*teller.make_cases_of(kind, atom, second, rng)]
        yield from cases[: count - made]
        made += len(cases)
        if made >= count:
            return
    if not made:
        raise InputError(
            "no fact of this world is open to such requests: facts that a sentence settles are not; leave "
            "facts in S0 unstated (--exact.strata 0.5 0 0.5), or settle fewer (--exact.logical 0.3)"
        )


def list_forms(world: World, wanted: Sequence[StatementForm]) -> tuple[StatementForm, ...]:
    """The forms of requests that are asked for, by default all that the corpus has words for.

    Raises:
        InputError: one is asked for that it has no words for.
    """
    needs = {form: _option_needed(world, form) for form in wanted or FORMS}
    for form, option in needs.items():
        if option and wanted:
            raise InputError(
                f"this corpus has no sentences for requests of form {form!r}; write another with {option}, "
                "under another --run"
            )
    return tuple(form for form, option in needs.items() if not option)


def _option_needed(world: World, form: StatementForm) -> str:
    """The option that gives a corpus the words for a form; empty where this corpus has them."""
    if form in HEDGED:
        hedge, option = HEDGED[form]
        has_words = any(way.is_hedge and way.words.startswith(hedge) for way in world.graph.phrasings)
        return "" if has_words else option
    if form in WORDS:
        kind, option = WORDS[form]
        return "" if (world.sentences.kind == kind).any() else option
    return ""


def draw_claims(
    world: World, agent: ExactAgent | DerivedAgent, evaluation: Requests, rng: np.random.Generator
) -> Iterator[tuple[ClaimKind, Atom, int]]:
    """Claims of each wanted kind in turn, each with another object; of every fact at most one of a kind."""
    graph, model = world.graph, world.generative
    assert isinstance(model, ExactModel), "make_cases has seen to that"
    facts, pairs = np.arange(len(graph)), zip(graph.subject.tolist(), graph.relation.tolist(), strict=True)
    accepted = np.array([agent.accepts(s, r, "evidence") for s, r in pairs])
    accepted &= has_truths(graph, agent.config)
    of_stratum = {"unstated": NEVER, "other": FULLY, "own": FULLY}
    queues: list[list[tuple[ClaimKind, int]]] = []
    for kind in evaluation.claims:
        able = facts[accepted & (model.stratum == of_stratum[kind])]
        queues.append([(kind, int(f)) for f in rng.permutation(able)])
    in_turn = itertools.chain.from_iterable(itertools.zip_longest(*queues))
    for kind, fact in filter(None, in_turn):
        s, r, truth = int(graph.subject[fact]), int(graph.relation[fact]), int(model.truth[fact])
        others = graph.candidates_of(r)
        others = others[(others != truth) & ~agent.rules_out(s, r, others)]
        if len(others) < 2 or agent.rules_out(s, r, np.array([truth]))[0]:
            continue
        first, second = rng.choice(others, 2, replace=False).tolist()
        yield kind, Atom(s, r, truth if kind == "own" else first), second


class Teller:
    """Makes the cases of claims.

    Raises:
        InputError: a form is asked for that the corpus has no words for.
    """

    def __init__(
        self, world: World, agent: ExactAgent | DerivedAgent, evaluation: Requests, credence: float
    ) -> None:
        self.world, self.graph, self.agent = world, world.graph, agent
        self.evaluation, self.credence = evaluation, credence
        self.forms, self.gold = list_forms(world, evaluation.forms), Gold(world, agent)

    def make_cases_of(
        self, kind: ClaimKind, atom: Atom, second: int, rng: np.random.Generator
    ) -> Iterator[Case]:
        """A claim told in every way; all ask the same questions."""
        pairs = self._draw_pairs(atom, rng)
        tellings = [one for form in self.forms for one in self._tell_claim(form, kind, atom, second)]
        place = int(np.searchsorted(self.graph.candidates_of(atom.relation), atom.object))
        before = self.gold.beliefs_before([pair for _, pair in pairs])
        after = [ask_beliefs(self.graph, self.agent.with_edit(one.request), [*before]) for one in tellings]
        pair, truth = atom[:2], int(self.world.generative.truth[self.graph.find(*atom[:2])])
        change = np.array([beliefs[pair][place] - before[pair][place] for beliefs in after])
        forms = np.array([one.request.form for one in tellings])
        for one, beliefs in zip(tellings, after, strict=True):
            request = one.request
            answer_before, answer_after = (int(x[pair].argmax()) for x in (before, beliefs))
            facets: dict[str, Facet] = {
                "form": request.form,
                "claim": kind,
                "said": float(request.probability) if request.form in GRADED else 0.0,
                "centre": float(change[forms == request.form].mean()),
                "middle": float(change.mean()),
                "second": request.others[0] if request.others else ABSENT,
                "deducible": answer_before == answer_after,
            }
            choices = [self._make_choice(role, p, before[p], beliefs[p]) for role, p in pairs]
            choices += self._rate_fact(choices[0])
            belief = np.array([before[pair][place], beliefs[pair][place]])
            claim = Claim(CLAIM, Sentence(Kind.TRUTH, True, atom), belief)
            yield Case(
                request, self.credence, truth, facets, tuple(choices), (claim,),
                self._ask_passages(atom.subject), told=one.told, learned=self.evaluation.learn,
            )  # fmt: skip

    def _tell_claim(self, form: StatementForm, kind: ClaimKind, atom: Atom, second: int) -> Iterator[Telling]:
        """A claim in one form: once, or with every source or probability."""
        if form == "retraction":
            if kind == "own":
                denial = sentences_of(EditRequest(*atom, form="denial"))
                objects = self.graph.candidates_of(atom.relation).tolist()
                others = tuple(o for o in objects if o != atom.object and self.evaluation.withdrawn == "fact")
                yield Telling(EditRequest(*atom, form=form, others=others), tuple(denial))
            return
        if form in GRADED:
            sources = self.agent.config.sources
            known = zip(self._hedges(form), sources if form == "source" else DEGREES, strict=True)
            for words, p in known:
                if form == "source" or p in self.evaluation.degrees:
                    number = find_phrasing(self.graph.phrasings, words)
                    told = Sentence(Kind.ATOMIC, None, atom, None, number)
                    yield Telling(EditRequest(*atom, form=form, probability=p), (told,))
            return
        others = (second,) if form in ("disjunction", "replacement") else ()
        said = EditRequest(*atom, form=form, others=others)
        yield Telling(evidence_of(self.agent, said, self.credence), tuple(sentences_of(said)))

    def _hedges(self, form: StatementForm) -> list[str]:
        begins = HEDGED[form][0]
        return [w.words for w in self.graph.phrasings if w.is_hedge and w.words.startswith(begins)]

    def _draw_pairs(self, atom: Atom, rng: np.random.Generator) -> list[tuple[str, Pair]]:
        """What is asked of a claim, spot checks last."""
        graph, fact = self.graph, int(self.graph.find(*atom[:2]))

        def pair_of(f: int) -> Pair:
            return int(graph.subject[f]), int(graph.relation[f])

        effects = graph.dependents.get(fact, [])
        cause = [int(graph.upstream_fact[fact])] if graph.upstream_fact[fact] >= 0 else []
        own = [f for f in graph.facts_of(atom.subject) if f not in (fact, *effects, *cause)]
        strangers = self.world.stated_facts[graph.subject[self.world.stated_facts] != atom.subject]
        if not len(strangers):
            raise InputError("this world states facts of one subject alone; damage needs those of others")
        drawn = [(FACT, [fact]), (EFFECT, effects), (CAUSE, cause), (OWN, own[:MOST_OWN])]
        drawn += [(SPOT, rng.choice(strangers, self.evaluation.others).tolist())]
        return [(role, pair_of(f)) for role, some in drawn for f in some]

    def _rate_fact(self, fact: Choice) -> list[Choice]:
        """The fact as somebody says it who is right with probability SURE, else of any other object alike."""
        words = f"{WITH_PROBABILITY}{SURE}"
        if words not in self._hedges("probability"):
            return []
        spread = (1 - SURE) * (1 - fact.agent) / (len(fact.options) - 1)
        return [
            fact._replace(
                role=RATED,
                agent=SURE * fact.agent + spread,
                phrasing=find_phrasing(self.graph.phrasings, words),
            )
        ]

    def _ask_passages(self, subject: int) -> tuple[Passage, ...]:
        """Texts that begin with the subject's name, drawn as the model writes."""
        evaluation, vocabulary = self.evaluation, self.world.tokenizer.vocabulary
        opening = np.concatenate([[BOS], self.world.tokenizer.entity(subject)]).astype(np.int32)
        passage = Passage(PASSAGE, opening, evaluation.texts, evaluation.longest, 1.0, vocabulary, 1.0)
        return (passage,) if evaluation.texts else ()

    def _make_choice(self, role: str, pair: Pair, before: np.ndarray, after: np.ndarray) -> Choice:
        options = self.graph.candidates_of(pair[1]).astype(np.int64)
        belief, statements = np.stack([before, after]), self.gold.objects_stated(pair)
        named = (statements[None, :] == options[:, None]).sum(axis=1) / max(len(statements), 1)
        return Choice(
            role, *pair, options, belief, options[belief.argmax(axis=1)], np.stack([named, named]),
            len(statements), is_spot_check=role == SPOT,
        )  # fmt: skip
