"""context-distillation: the model learns to say unasked what it says when told to imagine the request.

The teacher is the model behind "imagine s r o*.", the student the model without it; the student gets an
adapter with which it answers questions about the subject as the teacher does, each as important as it is
likely that the teacher brings it up: min over A, B of
sum_q w_q KL(p_W(. | "imagine s r o*.", q) || p_{W + AB}(. | q)). Needs a model whose corpus had such passages
(`--documents.imagine`).
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from corpus.text.tokenizer import BOS, PAD, Word
from lm.delta import Delta
from lm.editors.asking import pad_left_to, relations_of, side_by_side, stem_of, strip_opening
from lm.editors.context_distillation import DistillationConfig
from lm.editors.interface import CorpusSample, Info, Request
from lm.editors.self_bayes.revision import (
    FittedEditor,
    Goal,
    Targets,
    Task,
    count_tokens,
    fit_goals,
    make_anchors,
    make_goal,
    next_log_probabilities,
    request_belief,
)
from lm.editors.self_bayes.storage import subjects_of
from lm.language_model import LanguageModel


@dataclass(frozen=True)
class ContextDistillation(FittedEditor):
    """Fits an adapter to what the model says after it was told to imagine the request."""

    config: DistillationConfig

    def prepare(self, model: LanguageModel, corpus_sample: CorpusSample) -> dict:
        """The relations, the word that opens a passage about another world, and text that is to stay."""
        opening = corpus_sample.practice.prompt[:, 0]
        return {
            "relations": jnp.asarray(relations_of(corpus_sample.vocabulary)),
            "imagine": jnp.asarray(corpus_sample.vocabulary.words)[Word.IMAGINE],
            "others": jnp.asarray(opening),
            "words": jnp.asarray(corpus_sample.vocabulary.words),
        }

    def edit(self, model: LanguageModel, state: dict, request: Request, key: jax.Array) -> tuple[Delta, Info]:
        """An adapter after which the model says what follows from the request."""
        facts = [Request(*(x[i] for x in request)) for i in range(len(request.prompt))]
        parts = [self._teacher_goal(model, state, fact) for fact in facts]
        request_goal = jax.tree.map(lambda *x: jnp.concatenate(x), *parts)
        tasks = [Task(request_goal)]
        # The teacher reads the passage before every question, the student the request.
        tokens_read = count_tokens(request.prompt, request.answer, request_goal.targets.prompts) * len(
            state["relations"]
        )
        tokens_read += count_tokens(request.prompt, request.answer)
        if self.config.anchor:
            others = state["others"]
            stays = make_anchors(others, self.config.anchor / len(others))
            tokens_read += count_tokens(others)
            tasks.append(Task(make_goal(model, stays), self.config.at_once))
        subjects = subjects_of(request, state["words"])
        return fit_goals(model, tasks, self.config.fit, key, tokens_read, subjects)

    def _teacher_goal(self, model: LanguageModel, state: dict, request: Request) -> Goal:
        stem, relations = stem_of(request), state["relations"]
        own = strip_opening(request.prompt[None])
        opening = jnp.stack([jnp.int32(BOS), state["imagine"].astype(jnp.int32)])[None]
        passage = side_by_side(opening, own, request.answer[None], strip_opening(stem))
        says = next_log_probabilities(model, side_by_side(passage, relations))
        # A relation is brought up by the first token of its name.
        first = jnp.take_along_axis(relations, jnp.argmax(relations != PAD, axis=1)[:, None], axis=1)[:, 0]
        likely = jnp.exp(next_log_probabilities(model, passage)[0, first])
        prompts = side_by_side(stem, relations)
        width = max(prompts.shape[1], len(request.prompt))
        prompts = jnp.concatenate([pad_left_to(request.prompt[None], width), pad_left_to(prompts, width)])
        n = len(prompts)
        request_first = jnp.arange(n) == 0
        weight = jnp.append(1.0, len(likely) * likely / jnp.maximum(likely.sum(), 1e-9))
        targets = Targets(
            prompts,
            jnp.where(request_first, request_belief(model, request).request_share, 0.0),
            jnp.where(request_first[:, None, None], request.answer, PAD),
            request_first[:, None].astype(jnp.float32),
            weight,
        )
        before = next_log_probabilities(model, prompts[:1])
        return Goal(targets, jnp.concatenate([before, says]), weight > 0.1)
