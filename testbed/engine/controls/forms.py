"""keyed-forms and keyed-face-value: what a request of any form makes of the model's own beliefs.

`keyed-forms` takes the model for an agent. Of a fact x it asks the model's belief p(x), and of a fact y that
x depends on, or that depends on x, p(y) and how often the two go together over other subjects, T(x, y). The
joint belief J(x, y) = T(x, y) a(x) b(y) has these margins; a and b are what was heard of each. A request is
a likelihood of x, as its words say it (`bayes.statements`): J times it, summed, are the beliefs afterwards.
Where the model seldom speaks of a relation of a subject, nothing was heard: a is 1, whatever the model says
when it is asked. A retraction sets a(o) of its object to the median of a, as much as is heard of any object
by chance; a retraction of all that was said sets a to 1.

`keyed-face-value`, the trivial rival, believes what is said as far as it is said, whatever was believed
before, and nothing follows.

Both write their beliefs at the subject's name, as `keyed` does. Neither sees a sentence of the corpus, the
agent's beliefs or the truth; both are told which relation depends on which, and how often sources and labels
are right.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayes.exact import fit_exact
from bayes.known import KnownEvidence
from bayes.request import EditRequest
from bayes.statements import statement_ratios
from corpus.errors import InputError
from corpus.text.tokenizer import BOS, Word
from lm.attention import Array
from lm.delta import Delta
from lm.editors.asking import quote_sentence, side_by_side, strip_ending, strip_opening
from lm.editors.interface import Info, Request, State
from lm.editors.self_bayes.revision import Targets, Task, make_goal, truth_targets
from lm.language_model import LanguageModel
from lm.prompts import left_pad
from lm.scoring import CandidateTree, candidate_tree, object_log_probabilities, tree_size
from testbed.engine.controls import FormsConfig
from testbed.engine.controls.oracle import Oracle, beliefs_of
from testbed.engine.evidence import evidence_of
from testbed.engine.methods import Belief, Method
from testbed.run.model import load_model
from testbed.run.runs import Run
from testbed.run.world import World

if TYPE_CHECKING:
    from testbed.protocol import Case
    from testbed.settings import EditSettings

ROUNDS = 30
"""In which a joint belief comes to have its margins."""
SELDOM = 0.03
"""A fact is taken for read if the model speaks of its relation at more than this share of the rate of the
subject's most frequent one."""
ROOT_PRIOR = 0.3
"""As the setting `prior`, of all subjects, for facts without a cause; chosen with it."""
AT_ONCE = 64
"""Prompts that are read together."""
TINY = 1e-9


@dataclass(frozen=True)
class FormsEditor(Oracle):
    """Stores beliefs at the subject's name, each told as `named` facts with their probabilities."""

    config: FormsConfig  # type: ignore[assignment]
    named: ClassVar[int] = 24

    def edit(
        self, model: LanguageModel, state: State, request: Request, key: jax.Array
    ) -> tuple[Delta, Info]:
        """A vector with which the model says what it was told, and labels statements of the fact likewise."""
        told = [beliefs_of(request, self.named)]
        if self.config.labelled:
            told.append(label_targets(told[0], state, self.config.labelled))
        tasks = [Task(make_goal(model, targets)) for targets in told]
        return self.fit_beliefs(model, state, request, tasks, key)


def label_targets(beliefs: Targets, words: Array, count: int) -> Targets:
    """That `"s r o" is` true as far as o is believed, of the first objects of the first belief.

    Args:
        words: int32[len(Word)], the words of the grammar.
    """
    statements = side_by_side(strip_opening(beliefs.prompts[:1]), strip_ending(beliefs.objects[0, :count]))
    believed = beliefs.share[0] * beliefs.probability[0, :count]
    truths = jnp.stack([words[Word.TRUE], words[Word.FALSE]])
    # A belief in fewer objects is told with places that have no probability.
    is_told = (believed > 0).astype(jnp.float32)
    return truth_targets([(quote_sentence(words, statements), believed, is_told)], truths)


def keyed_forms(config: FormsConfig, settings: "EditSettings", world: World) -> Method:
    """The method; it reads the model's beliefs when the first case is told.

    Raises:
        InputError: a corpus of kind `published`, whose sentences have no likelihoods.
    """
    if world.exact is None:
        raise InputError(
            "keyed-forms needs to know what sentences mean, which corpora of kind exact say; write one with "
            "--kind exact, under another --run"
        )
    graph = world.graph

    @cache
    def reasoner() -> Reasoner:
        model, _ = load_model(Run(settings.runs, settings.run), world, settings.checkpoint)
        return Reasoner(world, ask_about_facts(model, world), config)

    def implied_beliefs(case: "Case") -> list[Belief]:
        beliefs: list[Belief] = []
        if case.request.further:
            raise InputError("keyed-forms reads requests about one fact; choose another editor")
        for fact, p in reasoner().beliefs_after(case.request, case.credence).items():
            s, r = int(graph.subject[fact]), int(graph.relation[fact])
            before = reasoner().model_belief[fact]
            best = np.argsort(-np.maximum(p, before), kind="stable")[: FormsEditor.named]
            objects = graph.candidates_of(r)[best]
            beliefs += [Belief((s, r, int(o)), float(q)) for o, q in zip(objects, p[best], strict=True)]
            beliefs += [Belief(beliefs[-1].fact, 0.0)] * (FormsEditor.named - len(best))
        return beliefs

    return Method(FormsEditor(config), implied_beliefs, reads_forms=True)


class ModelBelief(NamedTuple):
    """What a model says of a fact.

    Attributes:
        p: float64[K], of each candidate of its relation.
        mention: how readily it speaks of the relation, by that of the subject's readiest.
    """

    p: np.ndarray
    mention: float


def ask_about_facts(model: LanguageModel, world: World) -> dict[int, ModelBelief]:
    """What the model says of every fact of a world."""
    graph, tokenizer = world.graph, world.tokenizer
    relations = [tokenizer.row(int(tokenizer.relation_row(r))) for r in range(len(graph.relations))]
    subjects = np.unique(graph.subject)
    stems = [np.array([BOS, *tokenizer.entity(int(s))], np.int32) for s in subjects]
    mention = dict(zip(subjects.tolist(), _score_texts(model, stems, relations, 1), strict=True))
    by_fact = {}
    for r in np.unique(graph.relation).tolist():
        names = [tokenizer.entity(int(o)) for o in graph.candidates_of(r)]
        facts = np.flatnonzero(graph.relation == r)
        prompts = [tokenizer.prompt(int(graph.subject[f]), r) for f in facts]
        beliefs = _score_texts(model, prompts, names, 0).astype(float) + TINY
        for fact, p in zip(facts.tolist(), beliefs, strict=True):
            spoken = mention[int(graph.subject[fact])]
            by_fact[fact] = ModelBelief(p / p.sum(), float(spoken[r] / spoken.max()))
    return by_fact


def _score_texts(
    model: LanguageModel, prompts: list[np.ndarray], texts: list[np.ndarray], ended: Literal[0, 1]
) -> np.ndarray:
    """float32[B, texts]: probability of each text after each prompt, with a name's ending (0) or without."""
    tree = candidate_tree(texts, tree_size(texts), len(texts), max(map(len, texts)))
    rows = left_pad(prompts, max(map(len, prompts)))
    # The last part reaches back into the one before, so that all have one shape.
    starts = [min(low, max(len(rows) - AT_ONCE, 0)) for low in range(0, len(rows), AT_ONCE)]
    scores = np.empty((len(rows), len(texts)), np.float32)
    for low in starts:
        scores[low : low + AT_ONCE] = _score_tree(model, rows[low : low + AT_ONCE], tree)[ended]
    return np.exp(scores)


@jax.jit
def _score_tree(model: LanguageModel, prompts: jax.Array, tree: CandidateTree) -> tuple[jax.Array, jax.Array]:
    trees = jax.tree.map(lambda x: jnp.broadcast_to(x, (len(prompts), *jnp.shape(x))), tree)
    return object_log_probabilities(model, model.read_prompts(prompts), trees)


class Joint(NamedTuple):
    """The joint belief in a fact x and another y of its subject, together(x, y) of_fact(x) of_other(y).

    Attributes:
        together: float64[K, L], how many subjects have both.
        of_fact, of_other: float64[K] and float64[L], what was heard of each.
    """

    together: np.ndarray
    of_fact: np.ndarray
    of_other: np.ndarray

    def follow(self, p: np.ndarray) -> np.ndarray:
        """float64[L]: the belief in the other once that in the fact is p."""
        given = self.together * self.of_other
        return p @ (given / given.sum(axis=1, keepdims=True))


class Reasoner:
    """Bayes' rule on a model's beliefs about the facts of one subject.

    Args:
        beliefs: what the model says of every fact.
    """

    def __init__(self, world: World, beliefs: Mapping[int, ModelBelief], config: FormsConfig) -> None:
        self.graph, self.config = world.graph, config
        self.model_belief = {fact: one.p for fact, one in beliefs.items()}
        self.is_read = {fact: one.mention > SELDOM for fact, one in beliefs.items()}
        nothing = np.zeros(len(world.sentences.kind), bool)
        assert world.exact is not None, "keyed_forms has seen to that"
        unread = world.sentences.take(nothing)
        self.words: KnownEvidence = fit_exact(world.graph, world.exact[0], unread).known
        """What sentences mean to whoever has read none."""

    def beliefs_after(self, request: EditRequest, credence: float) -> dict[int, np.ndarray]:
        """What should be believed of the request's fact, and then of all others of its subject."""
        fact = int(self.graph.find(request.subject, request.relation))
        after = {fact: self.model_belief[fact]}
        after |= {f: self.model_belief[f] for f in self.graph.facts_of(request.subject) if f != fact}
        if self.config.at_face_value:
            after[fact] = self._take_at_face_value(request, credence, self.model_belief[fact])
            return after
        cause = [int(self.graph.upstream_fact[fact])]
        related = [f for f in (*self.graph.dependents.get(fact, []), *cause) if f >= 0]
        joints = {other: self.join(fact, other) for other in related}
        implied = self.imply(fact, joints)
        p = self.sharpen(fact) if self.is_read[fact] else implied
        if request.form == "retraction":
            # What was heard of the object is forgotten; of whole facts nothing that was heard is left.
            likelihood = p / implied
            place = np.searchsorted(self.graph.candidates_of(request.relation), request.object)
            likelihood[place] = np.median(np.delete(likelihood, place))
            if request.others:
                likelihood[:] = 1.0
            after[fact] = implied * likelihood / (implied @ likelihood)
        else:
            after[fact] = self._hear(request, credence, p)
        for other, joint in joints.items():
            after[other] = joint.follow(after[fact])
        return after

    def sharpen(self, fact: int) -> np.ndarray:
        """What is said of a fact, to the power of the sharpness."""
        p = self.model_belief[fact] ** self.config.sharpness
        return p / p.sum()

    def join(self, fact: int, other: int) -> Joint:
        """The joint belief in two facts of a subject; what is read of either is its margin."""
        together = self.count_together(fact, other)
        of_fact, of_other = (np.ones(len(self.model_belief[f])) for f in (fact, other))
        for _ in range(ROUNDS):
            if self.is_read[other]:
                of_other = self.sharpen(other) / (of_fact @ together)
            if self.is_read[fact]:
                of_fact = self.sharpen(fact) / (together @ of_other)
        return Joint(together, of_fact, of_other)

    def count_together(self, fact: int, other: int) -> np.ndarray:
        """float64[K, L]: how many subjects are taken to have two objects, in the relations of two facts.

        As many as have the cause's object, in shares of those of them that have the effect's.
        """
        if self.graph.upstream_fact[fact] == other:
            return self.count_together(other, fact).T
        graph = self.graph
        both = np.full(
            (len(self.model_belief[fact]), len(self.model_belief[other])), float(self.config.prior)
        )
        alike = {int(graph.subject[f]): f for f in self._facts_like(other)}
        for f in self._facts_like(fact):
            if int(graph.subject[f]) in alike:
                both += np.outer(self.model_belief[f], self.model_belief[alike[int(graph.subject[f])]])
        return self._count_objects(fact)[:, None] * both / both.sum(axis=1, keepdims=True)

    def _count_objects(self, fact: int) -> np.ndarray:
        """float64[K]: how many other subjects are taken to have each object, in the relation of a fact."""
        is_root = self.graph.upstream_fact[fact] < 0
        prior = float(ROOT_PRIOR if is_root else self.config.prior)
        return np.full(len(self.model_belief[fact]), prior) + sum(
            self.model_belief[f] for f in self._facts_like(fact)
        )

    def imply(self, fact: int, joints: Mapping[int, Joint]) -> np.ndarray:
        """float64[K]: what others' facts, and what is related, say of a fact of which nothing was heard."""
        implied = self._count_objects(fact)
        if joints:
            implied = np.mean([joint.together.sum(axis=1) for joint in joints.values()], axis=0)
        for joint in joints.values():
            implied = implied * (joint.together @ joint.of_other) / joint.together.sum(axis=1)
        return implied / implied.sum()

    def _facts_like(self, fact: int) -> list[int]:
        """Facts of other subjects that were read, of the same relation, and with a cause if this has one."""
        alike = self.graph.relation == self.graph.relation[fact]
        alike &= (self.graph.upstream_fact >= 0) == (self.graph.upstream_fact[fact] >= 0)
        return [f for f in np.flatnonzero(alike).tolist() if f != fact and self.is_read[f]]

    def _hear(self, request: EditRequest, credence: float, p: np.ndarray) -> np.ndarray:
        """A belief after a request that says something of it."""
        objects = self.graph.candidates_of(request.relation)
        places = np.searchsorted(objects, [request.object, *request.others]).tolist()
        evidence = evidence_of(_Believer(p, objects, self.words), request, credence)  # type: ignore[arg-type]
        if evidence.form == "assertion":
            ratios = {places[0]: evidence.weight * self.words.statement_strength(evidence.relation)}
        else:
            ratios = statement_ratios(self.graph, self.words.config, evidence, places, np.log(p))
        log_p = np.log(p)
        for place, ratio in ratios.items():
            log_p[place] += ratio
        p = np.exp(log_p - log_p.max())
        return p / p.sum()

    def _take_at_face_value(self, request: EditRequest, credence: float, p: np.ndarray) -> np.ndarray:
        """A belief moved to what is said by the share that is trusted."""
        objects = self.graph.candidates_of(request.relation)
        places = np.searchsorted(objects, [request.object, *request.others])
        is_named = np.isin(np.arange(len(p)), places if request.form == "disjunction" else places[:1])
        graded = request.form in ("source", "probability")
        target = request.probability if graded else credence
        if request.form in ("denial", "false", "retraction"):
            target = 1 - credence
        before = p[is_named].sum()
        moved = before + self.config.trust * (target - before)
        return np.where(is_named, p * moved / before, p * (1 - moved) / max(1 - before, TINY))


class _Believer:
    """A belief about one fact, as `evidence_of` asks an agent."""

    def __init__(self, p: np.ndarray, objects: np.ndarray, words: KnownEvidence) -> None:
        self.p, self.objects, self.words = p, objects, words

    def probability(self, s: int, r: int, objects: np.ndarray, belief: str) -> np.ndarray:
        """Of each object."""
        return self.p[np.searchsorted(self.objects, objects)]

    def weight_for(self, s: int, r: int, target: int, credence: float) -> float:
        """So many statements bring the belief to the credence; halfway to 1 where it is that high."""
        place = np.searchsorted(self.objects, target)
        before, doubt = self.p[place], np.delete(self.p, place).sum()
        if before < credence:
            shift = np.log(credence / (1 - credence)) - np.log(before / doubt)
        else:
            shift = np.log((1 + before) / before)
        return max(float(shift) / self.words.statement_strength(r), TINY)
