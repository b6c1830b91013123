"""self-bayes: Bayes' rule on the model's own beliefs, and an adapter fitted to what it says.

`prepare` reads what the model believes about everybody it speaks of, and finds in that which relation depends
on which (`reasoning`). `edit` works out what the request implies, says it as prompts q with targets,
consequences, causes and logical sentences, beside beliefs that are to stay, and fits an adapter to them
(`revision`): min over A, B of sum_q w_q KL(p(. | q, request) || p_{W + AB}(. | q)), p(. | q, request) being
Bayes' rule on the beliefs of W. It sees weights, vocabulary and request, never a corpus, a graph or a truth.
Dependences are looked for among the beliefs about one subject, so that an edit goes through no link.
"""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp

from corpus.text.tokenizer import PAD, Word
from lm.delta import Delta
from lm.editors.asking import pad_left_to, quote_sentence, side_by_side, strip_ending, strip_opening
from lm.editors.interface import CorpusSample, Info, Request
from lm.editors.self_bayes import SelfBayesConfig
from lm.editors.self_bayes.reasoning import (
    Consequences,
    Mind,
    RequestContext,
    ask_reviser,
    infer_consequences,
    locate_request,
    read_mind,
    sharpen_consequences,
)
from lm.editors.self_bayes.revision import (
    FittedEditor,
    Group,
    RequestBelief,
    Targets,
    count_tokens,
    make_anchors,
    request_belief,
    revise_facts,
    truth_targets,
)
from lm.language_model import LanguageModel

PARTNERS, JOINED = 64, 16.0
"""Other statements that the request is joined with by and or or, and the weight of these sentences."""
PEERS = 8
"""Subjects with the old object, and as many with the new one, whose beliefs should stay."""


@dataclass(frozen=True)
class SelfBayes(FittedEditor):
    """Fits an adapter to the posterior of the model's own beliefs given the request."""

    config: SelfBayesConfig

    def prepare(self, model: LanguageModel, corpus_sample: CorpusSample) -> Mind:
        """What the model believes, and what depends on what; of the sample only the vocabulary is read."""
        return read_mind(model, corpus_sample.vocabulary, self.config)

    def edit(self, model: LanguageModel, state: Mind, request: Request, key: jax.Array) -> tuple[Delta, Info]:
        """An adapter after which the model holds what follows from the request."""
        # Before the targets the subject was read with every relation, and the request.
        tokens_read = len(state.relations) * count_tokens(request.prompt) + count_tokens(
            request.prompt, request.answer
        )
        groups_of = partial(self._request_groups, model, state)
        return revise_facts(model, request, state.words, groups_of, self.config.fit, key, tokens_read)

    def _request_groups(
        self, model: LanguageModel, mind: Mind, request: Request, key: jax.Array
    ) -> list[Group]:
        """What the model should say after one fact of a request, in groups of one shape."""
        config = self.config
        context = locate_request(model, mind, request)
        infer = infer_consequences if config.asks == "one cause" else ask_reviser
        consequences = sharpen_consequences(infer(mind, context), config.sharpness)
        few = consequences.row.shape[1]
        belief = request_belief(model, request) if config.soft else RequestBelief(jnp.ones(()), jnp.ones(()))
        moves = consequences.moves if config.soft else jnp.round(consequences.moves)
        row = consequences.row if config.soft else jax.nn.one_hot(consequences.row.argmax(axis=1), few)
        # The request's own name first, since the model may never have said it.
        width = mind.objects.shape[1]
        answer = jnp.pad(jnp.asarray(request.answer), (0, max(0, width - len(request.answer))))
        names = jnp.pad(mind.objects[consequences.objects], ((0, 0), (0, 0), (0, len(answer) - width)))
        own_name = jnp.where(jnp.arange(few)[:, None] == 0, answer, PAD)
        relations = jnp.append(context.relation, consequences.relation)
        fact_targets = Targets(
            (mind.relations if config.fit.is_local else context.prompts)[relations],
            belief.request_share * jnp.append(1.0, moves),
            jnp.concatenate([own_name[None], names]),
            jnp.concatenate([jnp.eye(1, few), row]),
            jnp.append(1.0, consequences.real),
        )
        stays, talks = jax.random.split(key)
        other_weight = _weigh_other_facts(context, consequences)
        if config.fit.is_local:
            other_facts = make_anchors(mind.relations, other_weight)
            groups = [Group(fact_targets, of_subject=True), Group(other_facts, of_subject=True)]
        else:
            other_facts = make_anchors(context.prompts, other_weight)
            stay_targets = self._stay_targets(mind, context, consequences, other_facts, stays)
            groups = [Group(fact_targets), Group(stay_targets, config.at_once)]
        if config.logic:
            single, joined = self._sentence_targets(
                model, mind, context, consequences, belief.belief, answer, talks
            )
            groups += [Group(single), Group(joined, config.at_once)]
        return groups

    def _stay_targets(
        self,
        mind: Mind,
        context: RequestContext,
        consequences: Consequences,
        other_facts: Targets,
        key: jax.Array,
    ) -> Targets:
        """The subject's other facts, those of peers of the old and of the new object, and random ones."""
        config, (relations, subjects) = self.config, mind.reading_probability.shape
        new_key, old_key, any_ = jax.random.split(key, 3)
        others = ~context.is_subject
        parts, weights = [], []
        for pick, holders in ((new_key, context.holders_new), (old_key, context.holders_old)):
            which, real = sample_places(pick, holders * others, min(PEERS, subjects))
            for relation in (context.relation, consequences.relation[0]):
                parts.append(subject_prompts(mind, relation, which))
                weights.append(real)
        which, real = sample_places(
            any_, (mind.reading_probability * others).ravel(), min(config.others, relations * subjects)
        )
        parts.append(subject_prompts(mind, which // subjects, which % subjects))
        weights.append(real)
        peers = make_anchors(jnp.concatenate(parts), jnp.concatenate(weights))
        width = max(other_facts.prompts.shape[1], peers.prompts.shape[1])
        groups = [part._replace(prompts=pad_left_to(part.prompts, width)) for part in (other_facts, peers)]
        targets = Targets(*(jnp.concatenate(x) for x in zip(*groups, strict=True)))
        share = targets.weight / jnp.maximum(targets.weight.sum(), 1.0)
        return targets._replace(weight=config.anchor * share)

    def _sentence_targets(
        self,
        model: LanguageModel,
        mind: Mind,
        context: RequestContext,
        consequences: Consequences,
        belief: jax.Array,
        answer: jax.Array,
        key: jax.Array,
    ) -> list[Targets]:
        """Sentences about the request, alone, with other statements and with its first consequence."""
        config, subjects = self.config, mind.reading_probability.shape[1]
        pick, false, which_object = jax.random.split(key, 3)
        which, real = sample_places(
            pick,
            (mind.reading_probability * ~context.is_subject).ravel(),
            min(PARTNERS, mind.reading_probability.size),
        )
        relation, subject = which // subjects, which % subjects
        wrong = jax.random.randint(which_object, which.shape, 0, len(mind.objects))
        coin = jax.random.bernoulli(false, 0.5, (len(which),))
        objects = strip_ending(mind.objects[jnp.where(coin, wrong, mind.top[relation, subject, 0])])
        partner_sentence = side_by_side(
            strip_opening(mind.subjects[subject]), mind.relations[relation], objects
        )
        request_sentence = side_by_side(
            strip_opening(context.prompts[context.relation][None]), strip_ending(answer[None])
        )
        consequence_sentence = side_by_side(
            strip_opening(context.prompts[consequences.relation[:1]]),
            strip_ending(mind.objects[consequences.objects[:1, 0]]),
        )
        word = {w: mind.words[w][None, None] for w in (Word.NOT, Word.AND, Word.OR)}
        ask_truth = partial(quote_sentence, mind.words)
        truths = jnp.stack([mind.words[Word.TRUE], mind.words[Word.FALSE]])

        def truth_probability(prompts: jax.Array) -> jax.Array:
            logits = model.unembed(model.read_prompts(prompts).hidden)
            p = jax.nn.softmax(logits, axis=-1)[:, truths]
            return p[:, 0] / p.sum(axis=1)

        b = truth_probability(ask_truth(partner_sentence))
        if not config.soft:
            b = jnp.round(b)
        probability_before = truth_probability(ask_truth(consequence_sentence))
        probability_given_request = (
            consequences.moves[:1] * consequences.row[:1, 0]
            + (1 - consequences.moves[:1]) * probability_before
        )
        c = belief * probability_given_request + (1 - belief) * probability_before
        if not config.soft:
            probability_given_request, c = jnp.round(probability_given_request), jnp.round(c)
        a, one, consequence = belief[None], jnp.ones(1), consequences.real[:1].astype(jnp.float32)
        single_sentences = (
            (ask_truth(request_sentence), a, one),
            (ask_truth(word[Word.NOT], request_sentence), 1 - a, one),
            (ask_truth(consequence_sentence), c, consequence),
            (ask_truth(word[Word.NOT], consequence_sentence), 1 - c, consequence),
            (
                ask_truth(request_sentence, word[Word.AND], consequence_sentence),
                a * probability_given_request,
                consequence,
            ),
        )
        share = JOINED * real / len(which)
        joined_sentences = (
            (ask_truth(request_sentence, word[Word.AND], partner_sentence), a * b, share),
            (ask_truth(partner_sentence, word[Word.AND], request_sentence), a * b, share),
            (ask_truth(request_sentence, word[Word.OR], partner_sentence), a + b - a * b, share),
            (ask_truth(partner_sentence), b, share),
        )
        return [truth_targets(single_sentences, truths), truth_targets(joined_sentences, truths)]


def _weigh_other_facts(context: RequestContext, consequences: Consequences) -> jax.Array:
    """float32[R]: whether the model has read each fact of the subject, 0 for those the request bears on."""
    relations = jnp.arange(len(context.prompts))
    is_affected = (relations == context.relation) | jnp.any(
        (relations[:, None] == consequences.relation) & consequences.real, axis=1
    )
    return jnp.where(is_affected, 0.0, context.reading_probability)


def sample_places(key: jax.Array, weight: jax.Array, count: int) -> tuple[jax.Array, jax.Array]:
    """`count` different places drawn by weight, and whether each has one: fewer may have any."""
    scores, places = jax.lax.top_k(jnp.log(weight) + jax.random.gumbel(key, weight.shape), count)
    return places, (scores > -jnp.inf).astype(jnp.float32)


def subject_prompts(mind: Mind, relation: jax.Array, subject: jax.Array) -> jax.Array:
    """Prompts of some subjects; one relation for all of them, or one each."""
    names = mind.relations[relation]
    return side_by_side(mind.subjects[subject], names if names.ndim == 2 else names[None])
