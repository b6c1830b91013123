"""What a request is in words: the sentences that are said, and which of their tokens are to be learned."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bayes.request import EditRequest
from corpus.errors import InputError
from corpus.text.hedges import BY_SOURCE, WITH_PROBABILITY, find_phrasing, list_hedges
from corpus.text.language import Atom, Kind, Sentence
from corpus.text.tokenizer import BOS, PAD, SEP, Tokenizer
from lm.editors.interface import Request
from lm.prompts import left_pad
from testbed.run.settings import Learned
from testbed.run.world import World


class Wording(NamedTuple):
    """A request as tokens.

    Attributes:
        context: int32[P], `<s>` and what is only read.
        learned: int32[A], what follows and is learned, to the end of the last sentence.
    """

    context: np.ndarray
    learned: np.ndarray


def sentences_of(request: EditRequest) -> list[Sentence]:
    """The sentences of the formal language that say a request.

    Raises:
        InputError: a form for which the language has no words.
    """
    s, r, o = request[:3]
    said, others = Atom(s, r, o), [Atom(s, r, other) for other in request.others]
    if request.form in ("true", "false"):
        return [Sentence(Kind.TRUTH, request.form == "true", said)]
    if request.form == "denial":
        return [Sentence(Kind.NOT, True, said)]
    if request.form == "disjunction" and len(others) == 1:
        return [Sentence(Kind.OR, True, said, others[0])]
    if request.form == "replacement":
        wrong = [Sentence(Kind.TRUTH, False, other) for other in others]
        return [*wrong, Sentence(Kind.ATOMIC, None, said)]
    if request.form == "assertion":
        return [Sentence(Kind.ATOMIC, None, said)]
    raise InputError(
        f"the sentences of this world have no words for a request of form {request.form!r}, so that editors "
        "of text cannot be told it; tell them an assertion, a denial, a label or a replacement, or take "
        "keyed-forms"
    )


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


def word_sentences(tokenizer: Tokenizer, sentences: list[Sentence], learned: Learned = "doubt") -> Wording:
    """Sentences as one document; what is in doubt is the end of the last one."""
    *before, last = (tokenizer.sentence(sentence) for sentence in sentences)
    doubtful = 1 if sentences[-1].label is not None else len(tokenizer.entity(sentences[-1].a.object))
    tokens = np.concatenate([[BOS], *(part for row in before for part in (row, [SEP])), last, [SEP]])
    cut = len(tokens) - doubtful - 1 if learned == "doubt" else 1
    return Wording(tokens[:cut].astype(np.int32), tokens[cut:].astype(np.int32))


def pack_wordings(wordings: Sequence[Wording], credence: float | Sequence[float] = 1.0) -> Request:
    """Wordings as what editors are told, of one sentence or document each, along a leading axis.

    Editors that need to know where the subject stands cannot read them: that is given as the first token.
    """
    context = left_pad([one.context for one in wordings], max(len(one.context) for one in wordings))
    learned = np.full((len(wordings), max(len(one.learned) for one in wordings)), PAD, np.int32)
    for row, one in zip(learned, wordings, strict=True):
        row[: len(one.learned)] = one.learned
    number = np.zeros(len(wordings), np.float32)
    columns = context, learned, number.astype(np.int32), number, number + np.asarray(credence, np.float32)
    return Request(*(column[:, None] for column in columns))
