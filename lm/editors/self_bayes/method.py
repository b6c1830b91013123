"""self-bayes: Bayes' rule on the model's own beliefs, and an adapter fitted to what it says.

`prepare` reads what the model believes about everybody it speaks of, and finds in that which relation depends
on which (`reasoning`). `edit` works out what the request implies, says it as prompts q with targets,
consequences, causes and logical sentences, beside beliefs that are to stay, and fits an adapter to them
(`revision`): min over A, B of sum_q w_q KL(p(. | q, request) || p_{W + AB}(. | q)), p(. | q, request) being
Bayes' rule on the beliefs of W. It sees weights, vocabulary and request, never a corpus, a graph or a truth.
Dependences are looked for among the beliefs about one subject, so that an edit goes through no link.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp

from corpus.tokenizer import BOS, PAD, Word
from lm.delta import Delta
from lm.editors.asking import side_by_side, unbegun, unended, widened
from lm.editors.interface import CorpusSample, Info, Request
from lm.editors.self_bayes import SelfBayesConfig
from lm.editors.self_bayes.reasoning import Asked, Consequences, Mind, about, consequences, make_up
from lm.editors.self_bayes.revision import Held, Targets, anchors, held, revise_facts, tokens_of
from lm.language_model import LanguageModel
from lm.scoring import next_token_probabilities


@dataclass(frozen=True)
class SelfBayes:
    """Fits an adapter to the posterior of the model's own beliefs given the request."""

    config: SelfBayesConfig

    @property
    def most_steps(self) -> int:
        """Turns that the loop of an edit takes at most."""
        return self.config.fit.steps

    def prepare(self, model: LanguageModel, corpus_sample: CorpusSample) -> Mind:
        """What the model believes, and what depends on what; of the sample only the vocabulary is read."""
        return make_up(model, corpus_sample.vocabulary, self.config)

    def edit(self, model: LanguageModel, state: Mind, request: Request, key: jax.Array) -> tuple[Delta, Info]:
        """An adapter after which the model holds what follows from the request."""
        # Before the targets the subject was read with every relation, and the request.
        read = len(state.relations) * tokens_of(request.prompt) + tokens_of(request.prompt, request.answer)
        config, targets_of = self.config, partial(self._targets, model, state)
        return revise_facts(model, request, targets_of, config.at_once, config.fit, key, read)

    def _targets(self, model: LanguageModel, mind: Mind, request: Request, key: jax.Array) -> list[Targets]:
        """What the model should say after one fact of a request, in groups of one shape."""
        config = self.config
        asked = about(model, mind, request)
        implied = consequences(mind, asked)
        few = implied.row.shape[1]
        believed = held(model, request) if config.soft else Held(jnp.ones(()), jnp.ones(()))
        moves = implied.moves if config.soft else jnp.round(implied.moves)
        row = implied.row if config.soft else jax.nn.one_hot(implied.row.argmax(axis=1), few)
        # The request's own name first, since the model may never have said it.
        width = mind.objects.shape[1]
        answer = jnp.pad(jnp.asarray(request.answer), (0, max(0, width - len(request.answer))))
        names = jnp.pad(mind.objects[implied.objects], ((0, 0), (0, 0), (0, len(answer) - width)))
        own_name = jnp.where(jnp.arange(few)[:, None] == 0, answer, PAD)
        told = Targets(
            jnp.concatenate([asked.prompts[asked.relation][None], asked.prompts[implied.relation]]),
            believed.added * jnp.append(1.0, moves),
            jnp.concatenate([own_name[None], names]),
            jnp.concatenate([jnp.eye(1, few), row]),
            jnp.append(1.0, implied.real),
        )
        groups = [told]
        stays, talks = jax.random.split(key)
        groups.append(self._stays(mind, asked, implied, stays))
        if config.logic:
            groups += self._talk(model, mind, asked, implied, believed.belief, answer, talks)
        return groups

    def _stays(self, mind: Mind, asked: Asked, implied: Consequences, key: jax.Array) -> Targets:
        """The subject's other facts, those of peers of the old and of the new object, and random ones."""
        config, (relations, subjects) = self.config, mind.known.shape
        new, old, any_ = jax.random.split(key, 3)
        moved = (jnp.arange(relations) == asked.relation) | jnp.any(
            (jnp.arange(relations)[:, None] == implied.relation) & implied.real, axis=1
        )
        other_facts = anchors(asked.prompts, jnp.where(moved, 0.0, asked.known))
        others = ~asked.is_subject
        parts, weights = [], []
        for pick, holders in ((new, asked.holders_new), (old, asked.holders_old)):
            which, real = sample(pick, holders * others, min(config.peers, subjects))
            for relation in (asked.relation, implied.relation[0]):
                parts.append(prompts_of(mind, relation, which))
                weights.append(real)
        which, real = sample(any_, (mind.known * others).ravel(), min(config.others, relations * subjects))
        parts.append(prompts_of(mind, which // subjects, which % subjects))
        weights.append(real)
        peers = anchors(jnp.concatenate(parts), jnp.concatenate(weights))
        width = max(other_facts.prompts.shape[1], peers.prompts.shape[1])
        both = [part._replace(prompts=widened(part.prompts, width)) for part in (other_facts, peers)]
        targets = Targets(*(jnp.concatenate(x) for x in zip(*both, strict=True)))
        share = targets.weight / jnp.maximum(targets.weight.sum(), 1.0)
        return targets._replace(weight=config.anchor * share)

    def _talk(
        self,
        model: LanguageModel,
        mind: Mind,
        asked: Asked,
        implied: Consequences,
        held: jax.Array,
        answer: jax.Array,
        key: jax.Array,
    ) -> list[Targets]:
        """Sentences about the request, alone, with other statements and with its first consequence."""
        config, subjects = self.config, mind.known.shape[1]
        pick, false, which_object = jax.random.split(key, 3)
        which, real = sample(
            pick, (mind.known * ~asked.is_subject).ravel(), min(config.partners, mind.known.size)
        )
        relation, subject = which // subjects, which % subjects
        wrong = jax.random.randint(which_object, which.shape, 0, len(mind.objects))
        coin = jax.random.bernoulli(false, 0.5, (len(which),))
        said = unended(mind.objects[jnp.where(coin, wrong, mind.top[relation, subject, 0])])
        partner = side_by_side(unbegun(mind.subjects[subject]), mind.relations[relation], said)
        mine = side_by_side(unbegun(asked.prompts[asked.relation][None]), unended(answer[None]))
        child = side_by_side(
            unbegun(asked.prompts[implied.relation[:1]]), unended(mind.objects[implied.objects[:1, 0]])
        )
        word = {w: mind.words[w][None, None] for w in Word}
        bos = jnp.full((1, 1), BOS, jnp.int32)

        def quoted(*parts: jax.Array) -> jax.Array:
            return side_by_side(bos, word[Word.QUOTE], *parts, word[Word.QUOTE], word[Word.IS])

        truths = jnp.stack([mind.words[Word.TRUE], mind.words[Word.FALSE]])

        def believed(prompts: jax.Array) -> jax.Array:
            p = next_token_probabilities(model, model.read(prompts), truths)
            return p[:, 0] / p.sum(axis=1)

        b = believed(quoted(partner))
        if not config.soft:
            b = jnp.round(b)
        was = believed(quoted(child))
        then = implied.moves[:1] * implied.row[:1, 0] + (1 - implied.moves[:1]) * was
        c = held * then + (1 - held) * was
        if not config.soft:
            then, c = jnp.round(then), jnp.round(c)
        a, one, consequence = held[None], jnp.ones(1), implied.real[:1].astype(jnp.float32)
        alone = (
            (quoted(mine), a, one),
            (quoted(word[Word.NOT], mine), 1 - a, one),
            (quoted(child), c, consequence),
            (quoted(word[Word.NOT], child), 1 - c, consequence),
            (quoted(mine, word[Word.AND], child), a * then, consequence),
        )
        share = config.joined * real / len(which)
        joined = (
            (quoted(mine, word[Word.AND], partner), a * b, share),
            (quoted(partner, word[Word.AND], mine), a * b, share),
            (quoted(mine, word[Word.OR], partner), a + b - a * b, share),
            (quoted(partner), b, share),
        )
        return [_truths(alone, truths), _truths(joined, truths)]


def _truths(said: Sequence[tuple[jax.Array, jax.Array, jax.Array]], truths: jax.Array) -> Targets:
    """Targets of sentences up to "is": (prompts, p(true), weight) each."""
    width = max(prompts.shape[1] for prompts, _, _ in said)
    prompts = jnp.concatenate([widened(prompts, width) for prompts, _, _ in said])
    true = jnp.concatenate([p for _, p, _ in said])
    return Targets(
        prompts,
        jnp.ones(len(true)),
        jnp.broadcast_to(truths[None, :, None], (len(true), 2, 1)),
        jnp.stack([true, 1 - true], axis=1),
        jnp.concatenate([weight for _, _, weight in said]),
    )


def sample(key: jax.Array, weight: jax.Array, count: int) -> tuple[jax.Array, jax.Array]:
    """`count` different places drawn by weight, and whether each has one: fewer may have any."""
    drawn, places = jax.lax.top_k(jnp.log(weight) + jax.random.gumbel(key, weight.shape), count)
    return places, (drawn > -jnp.inf).astype(jnp.float32)


def prompts_of(mind: Mind, relation: jax.Array, subject: jax.Array) -> jax.Array:
    """Prompts of some subjects; one relation for all of them, or one each."""
    names = mind.relations[relation]
    return side_by_side(mind.subjects[subject], names if names.ndim == 2 else names[None])
