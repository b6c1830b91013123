"""count-based: the trivial rival of self-bayes, with the same access and without its inference.

The model's beliefs are read as self-bayes reads them, and everybody is taken to have what is most probable.
For a request (s, r, o*) the subjects with o* in r are counted: n(o | r') of them have o in another relation
r'. Where s has r', there are enough of them, and more than half agree, p(. | s, r') becomes n(. | r') over
their number; all else stays. No direction, no prior, no doubt: what goes with o* comes along.
"""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from corpus.text.tokenizer import PAD
from lm.delta import Delta
from lm.editors.asking import pad_left_to
from lm.editors.count_based import CountConfig
from lm.editors.interface import CorpusSample, Info, Request
from lm.editors.self_bayes import DependenceConfig
from lm.editors.self_bayes.dependence import Dependence
from lm.editors.self_bayes.method import sample_places, subject_prompts
from lm.editors.self_bayes.reasoning import FEW, Mind, RequestContext, build_mind, locate_request
from lm.editors.self_bayes.recall import recall_beliefs
from lm.editors.self_bayes.revision import (
    FittedEditor,
    Group,
    Targets,
    count_tokens,
    make_anchors,
    request_belief,
    revise_facts,
)
from lm.language_model import LanguageModel


class PeerCounts(NamedTuple):
    """What the subjects with the new object have in each of R relations.

    Attributes:
        follows: bool[R], whether the request's subject gets it too.
        objects: int32[R, n], rows of `Mind.objects`, the most frequent first.
        share: float32[R, n], of the subjects that have any.
    """

    follows: jax.Array
    objects: jax.Array
    share: jax.Array


@dataclass(frozen=True)
class CountBased(FittedEditor):
    """Fits an adapter to counts of what goes with the new object."""

    config: CountConfig

    def prepare(self, model: LanguageModel, corpus_sample: CorpusSample) -> Mind:
        """What the model believes; of the sample only the vocabulary is read."""
        beliefs = recall_beliefs(model, corpus_sample.vocabulary, self.config.beliefs)
        # Every relation for itself, and all facts persist: a mind that is only read.
        relations = len(beliefs.p)
        whole = (relations, relations)
        nothing_depends = Dependence(
            np.full(relations, -1, np.int32),
            np.zeros(whole),
            np.full(whole, np.nan),
            np.full(whole, np.nan),
            np.ones(whole, np.float32),
            np.ones(relations, np.float32),
        )
        seldom = DependenceConfig().seldom
        return build_mind(beliefs, nothing_depends, corpus_sample.vocabulary, seldom)

    def edit(self, model: LanguageModel, state: Mind, request: Request, key: jax.Array) -> tuple[Delta, Info]:
        """An adapter after which the subject has what its new peers have."""
        tokens_read = len(state.relations) * count_tokens(request.prompt)
        groups_of = partial(self._request_groups, model, state)
        return revise_facts(model, request, state.words, groups_of, self.config.fit, key, tokens_read)

    def _request_groups(
        self, model: LanguageModel, mind: Mind, request: Request, key: jax.Array
    ) -> list[Group]:
        """What the model should say after one fact of a request, and what is to stay."""
        config, context = self.config, locate_request(model, mind, request)
        peer_counts = count_peers(mind, context, config)
        few = peer_counts.share.shape[1]
        itself = jnp.arange(len(peer_counts.follows)) == context.relation
        row = peer_counts.share if config.soft else jax.nn.one_hot(jnp.zeros(len(itself), int), few)
        request_share = request_belief(model, request).request_share if config.soft else 1.0
        width = mind.objects.shape[1]
        answer = jnp.pad(jnp.asarray(request.answer), (0, max(0, width - len(request.answer))))
        names = jnp.pad(mind.objects[peer_counts.objects], ((0, 0), (0, 0), (0, len(answer) - width)))
        # The request's own name, since the model may never have said it.
        own_name = jnp.where(jnp.arange(few)[:, None] == 0, answer, PAD)
        targets = Targets(
            context.prompts,
            jnp.where(itself, request_share, peer_counts.follows),
            jnp.where(itself[:, None, None], own_name, names),
            jnp.where(itself[:, None], jnp.eye(1, few), row),
            (itself | peer_counts.follows).astype(jnp.float32),
        )
        if config.fit.is_local:
            # What does not follow has a share of 0: it is to stay.
            weight = jnp.where(targets.weight > 0, 1.0, context.reading_probability)
            return [Group(targets._replace(prompts=mind.relations, weight=weight), of_subject=True)]
        if not config.anchor:
            return [Group(targets)]
        relations, subjects = mind.reading_probability.shape
        elsewhere = (mind.reading_probability * ~context.is_subject).ravel()
        which, real = sample_places(key, elsewhere, min(config.others, relations * subjects))
        others = subject_prompts(mind, which // subjects, which % subjects)
        wide = max(others.shape[1], context.prompts.shape[1])
        weight = jnp.concatenate([jnp.where(targets.weight > 0, 0.0, context.reading_probability), real])
        prompts = jnp.concatenate([pad_left_to(context.prompts, wide), pad_left_to(others, wide)])
        anchors = make_anchors(prompts, config.anchor * weight / jnp.maximum(weight.sum(), 1.0))
        return [Group(targets), Group(anchors, config.at_once)]


def count_peers(mind: Mind, context: RequestContext, config: CountConfig) -> PeerCounts:
    """What the subjects with the requested object have, everybody having what is most probable."""
    peers = context.holders_new > 0.5

    def one(known: jax.Array, best: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        row = jnp.zeros(len(mind.objects)).at[best].add(peers & (known > 0.5))
        most, objects = jax.lax.top_k(row, min(FEW, len(row)))
        return row.sum(), objects, most

    total, objects, most = jax.vmap(one)(mind.reading_probability, mind.top[:, :, 0])
    agree = (total >= config.fewest) & (most[:, 0] > config.majority * total)
    others = jnp.arange(len(total)) != context.relation
    share = most / jnp.maximum(most.sum(axis=1, keepdims=True), 1.0)
    read = config.unread | (jnp.asarray(context.reading_probability) > 0.5)
    return PeerCounts(agree & others & read, objects, share)
