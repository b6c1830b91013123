"""Answers of model and agent to single questions, before and after one edit."""

import math
from collections.abc import Callable
from functools import cached_property

import jax
import numpy as np

from bayes.interface import Agent, EditRequest, RequestKind
from corpus.errors import InputError
from corpus.seeds import integer
from lm.attention import Array
from lm.delta import Delta
from lm.editors.config import LoraConfig
from lm.editors.interface import edit_batch, requests
from lm.editors.lora import lora_down
from lm.language_model import Context, LanguageModel
from lm.prompts import left_pad
from lm.scoring import CandidateTree, candidate_tree, object_log_probabilities, tree_size
from testbed.agents import agent_named
from testbed.presets import AgentName
from testbed.world import World

Fact = tuple[int, int, int]
Answerer = Callable[[int, int, int], list[tuple[int, float]]]
"""(subject, relation, how many) -> the most probable objects with their probabilities."""

OBJECTS_AT_ONCE = 256


@jax.jit
def _read(model: LanguageModel, prompts: Array) -> Context:
    return model.read(prompts)


@jax.jit
def _score(model: LanguageModel, context: Context, tree: CandidateTree) -> jax.Array:
    return object_log_probabilities(model, context, tree)[0]


def read_edit(world: World, text: str) -> Fact:
    """The fact in "subject relation = object".

    Raises:
        InputError: no " = ", an unknown name, or an object that is the object of no fact.
    """
    prompt, equals, name = text.rpartition(" = ")
    if not equals:
        raise InputError(f"the edit {text!r} should be 'subject relation = object'")
    language = world.tokenizer.language
    s, r = language.parse_prompt(prompt)
    o = language.entity(name)
    if o not in world.graph.objects:
        raise InputError(f"{name!r} is the object of no fact of this world, so nothing can be said to be it")
    return s, r, o


class Witness:
    """Model and agent of one run, ready to be asked."""

    def __init__(self, world: World, trained: LanguageModel, agent: AgentName) -> None:
        self.world, self.trained, self.agent_name = world, trained, agent

    @cached_property
    def rational(self) -> Agent:
        """The agent that is asked."""
        return agent_named(self.agent_name, self.world)

    def model(self, delta: Delta | None) -> Answerer:
        """The model's answers under a delta: p(o | s r) of every object of the world, ending included."""
        tokenizer, objects = self.world.tokenizer, self.world.graph.objects
        chunks = [objects[i : i + OBJECTS_AT_ONCE] for i in range(0, len(objects), OBJECTS_AT_ONCE)]
        rows = [[tokenizer.entity(int(o)) for o in chunk] for chunk in chunks]
        nodes, longest = max(map(tree_size, rows)), max(len(row) for chunk in rows for row in chunk)
        trees = [candidate_tree(chunk, nodes, OBJECTS_AT_ONCE, longest) for chunk in rows]

        def answer(s: int, r: int, top: int) -> list[tuple[int, float]]:
            prompt = tokenizer.prompt(s, r)
            model = self.trained.edited(delta)
            context = _read(model, left_pad([prompt], len(prompt)))
            logs = [_score(model, context, jax.tree.map(lambda x: x[None], tree)) for tree in trees]
            p = np.exp(np.concatenate([np.asarray(x)[0] for x in logs]))[: len(objects)]
            return [(int(objects[i]), float(p[i])) for i in np.argsort(-p, kind="stable")[:top]]

        return answer

    def agent(
        self, request: Fact | None, credence: float | None = None, kind: RequestKind = "evidence"
    ) -> Answerer:
        """The agent's answers; the requested fact itself by direct belief, as in test cases.

        Args:
            credence: the agent's belief in the request after evidence of it; None asks before the edit.
            kind: what the edit is to the agent.
        """
        agent = self.rational
        if request and credence is not None:
            weight = agent.weight_for(*request, credence) if kind == "evidence" else math.inf
            agent = agent.with_edit(EditRequest(*request, weight, kind))

        def answer(s: int, r: int, top: int) -> list[tuple[int, float]]:
            belief = agent.predict(s, r, "direct" if request and (s, r) == request[:2] else "best")
            best = belief.top(top)
            return [(int(o), float(p)) for o, p in zip(best, belief.of(best), strict=True)]

        return answer

    def edited(self, edit: Fact, recipe: LoraConfig, seed: int) -> Delta:
        """The delta of one lora-down edit."""
        request = requests(self.world.tokenizer, [edit], [1.0], [1.0])
        keys = jax.random.split(jax.random.key(integer(seed, "editor")), 1)
        deltas, _ = edit_batch(lora_down(recipe), self.trained, {}, request, keys)
        return jax.tree.map(lambda x: x[0], deltas)
