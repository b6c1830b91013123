"""Answers of model and agent to single questions, before and after one edit."""

from collections.abc import Callable, Sequence

import jax
import numpy as np

from bayes.interface import Agent, tell_agent
from bayes.request import EditRequest, RequestKind
from corpus.errors import InputError
from corpus.seeds import integer
from corpus.text.hedges import BY_SOURCE, WITH_PROBABILITY, find_phrasing, list_hedges
from corpus.text.language import Atom, Kind, Sentence
from lm.attention import Array
from lm.delta import Delta
from lm.editors.interface import edit_batch
from lm.language_model import LanguageModel
from lm.prompts import left_pad
from lm.scoring import CandidateTree, candidate_tree, object_log_probabilities, tree_size
from testbed.engine.checks import check_editor, prepare_editor
from testbed.engine.evidence import evidence_of
from testbed.engine.methods import Method
from testbed.engine.requests import sentences_of, tell_method
from testbed.protocol import ABSENT, Case, Choice, credence_of_request
from testbed.run.model import corpus_sample
from testbed.run.runs import Run
from testbed.run.settings import Learned
from testbed.run.world import World

Answerer = Callable[[int, int, int], list[tuple[int, float]]]
"""(subject, relation, how many) -> the most probable objects with their probabilities."""

OBJECTS_AT_ONCE = 256


@jax.jit
def _score_objects(model: LanguageModel, prompts: Array, tree: CandidateTree) -> jax.Array:
    """Log-probabilities of one piece of the objects, of which there are few: each reads the prompt again."""
    return object_log_probabilities(model, model.read_prompts(prompts), tree)[0]


class RunAnswers:
    """Model and agent of one run, ready to be asked."""

    def __init__(self, world: World, trained: LanguageModel, rational_agent: Agent) -> None:
        self.world, self.trained, self.rational_agent = world, trained, rational_agent

    def model_answers(self, delta: Delta | None) -> Answerer:
        """The model's answers under a delta: p(o | s r) of every object of the world, ending included."""
        tokenizer, objects = self.world.tokenizer, self.world.graph.objects
        chunks = [objects[i : i + OBJECTS_AT_ONCE] for i in range(0, len(objects), OBJECTS_AT_ONCE)]
        rows = [[tokenizer.entity(int(o)) for o in chunk] for chunk in chunks]
        nodes, longest = max(map(tree_size, rows)), max(len(row) for chunk in rows for row in chunk)
        trees = [candidate_tree(chunk, nodes, OBJECTS_AT_ONCE, longest) for chunk in rows]

        def answer(s: int, r: int, top: int) -> list[tuple[int, float]]:
            prompt = tokenizer.prompt(s, r)
            model, read = self.trained.with_delta(delta), left_pad([prompt], len(prompt))
            logs = [_score_objects(model, read, jax.tree.map(lambda x: x[None], tree)) for tree in trees]
            p = np.exp(np.concatenate([np.asarray(x)[0] for x in logs]))[: len(objects)]
            return [(int(objects[i]), float(p[i])) for i in np.argsort(-p, kind="stable")[:top]]

        return answer

    def agent_answers(
        self, request: EditRequest | None, credence: float | None = None, kind: RequestKind = "evidence"
    ) -> Answerer:
        """The agent's answers; the requested fact itself by direct belief, as in test cases.

        Args:
            credence: the agent's belief in the request after evidence of it; None asks before the edit.
            kind: what the edit is to the agent.
        """
        agent = self.rational_agent
        if request and credence is not None:
            agent = tell_agent(agent, evidence_of(self.rational_agent, request, credence, kind))
        requested = [part[:2] for part in request.parts] if request else []

        def answer(s: int, r: int, top: int) -> list[tuple[int, float]]:
            belief = agent.predict(s, r, "direct" if (s, r) in requested else "best")
            best = belief.top(top)
            return [(int(o), float(p)) for o, p in zip(best, belief.of(best), strict=True)]

        return answer

    def delta_of_edit(
        self, method: Method, run: Run, case: Case, seed: int, learned: Learned = "doubt"
    ) -> Delta:
        """The delta of one edit, made as in a sweep that has no other case.

        Args:
            learned: what the editor is to learn of the request.

        Raises:
            InputError: a request that is no assertion, or of which every token is to be learned, where the
                editor reads facts and no text, or the world's language has no words for it.
        """
        is_fact = method.reads_forms or (case.request.form, learned) == ("assertion", "doubt")
        told = () if is_fact else tuple(say_request(self.world, case.request))
        case = case._replace(told=told, learned=learned)
        requests = tell_method(self.world.tokenizer, [case], method)[""].batch
        state = prepare_editor(method.editor, self.trained, corpus_sample(run, self.world, [case], seed))
        check_editor(method.editor, self.trained, state, requests)
        keys = jax.random.fold_in(jax.random.key(integer(seed, "editor")), 0)[None]
        deltas, _ = edit_batch(method.editor, self.trained, state, requests, keys)
        return jax.tree.map(lambda x: x[0], deltas)

    def case_of_edit(
        self, said: EditRequest, credence: float, kind: RequestKind, questions: Sequence[tuple[int, int]]
    ) -> Case:
        """A test case of one's own: the edit, and the questions that are asked about it."""
        request = evidence_of(self.rational_agent, said, credence, kind)
        before, after = self.rational_agent, tell_agent(self.rational_agent, request)
        fact_id = int(self.world.graph.find(*said[:2]))
        truth = int(self.world.generative.truth[fact_id]) if fact_id >= 0 else ABSENT
        choices, options = [], np.array([request.object])
        for s, r in questions:
            beliefs = [agent.predict(s, r) for agent in (before, after)]
            agent = np.stack([belief.of(options) for belief in beliefs])
            answer = np.array([belief.mode() for belief in beliefs])
            choices.append(
                Choice("asked", s, r, options, agent, answer, np.full(agent.shape, np.nan), ABSENT)
            )
        return Case(request, credence_of_request(kind, credence), truth, {}, tuple(choices))


def say_request(world: World, request: EditRequest) -> list[Sentence]:
    """The sentences of a world's language that say a request; hedged ones where its corpus has the hedge.

    Raises:
        InputError: a form for which the language has no words, or nobody in it is right so often.
    """
    begins = {"source": BY_SOURCE, "probability": WITH_PROBABILITY}.get(request.form)
    if begins is None or world.exact is None:
        return sentences_of(request)
    known = {p: words for words, p in list_hedges(world.exact.config) if words.startswith(begins)}
    if request.probability not in known:
        if not known:
            return sentences_of(request)
        raise InputError(
            f"nobody in this corpus is right with probability {request.probability:g}, so that no sentence "
            f"says a request of form {request.form!r}; there are {', '.join(f'{p:g}' for p in sorted(known))}"
        )
    number = find_phrasing(world.graph.phrasings, known[request.probability])
    return [Sentence(Kind.ATOMIC, None, Atom(*request[:3]), None, number)]
