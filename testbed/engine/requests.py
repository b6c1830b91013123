"""What an editor is told of every case: sentences as tokens, in arrays that are built once, in few widths.

Requests of many lengths are padded to one of few widths: each is a program more to compile, and less padding
to compute.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bayes.request import EditRequest
from corpus.errors import InputError
from corpus.text.language import Atom, Kind, Sentence
from corpus.text.tokenizer import BOS, PAD, SEP, Tokenizer
from lm.editors.interface import Request, group_requests, make_requests, trait_of
from lm.prompts import left_pad
from testbed.engine.methods import Belief, Method, Triple, the_request
from testbed.engine.versions import path_of
from testbed.protocol import Case
from testbed.run.settings import Learned


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


MOST = 3
"""Widths of a sweep."""
EDITS = 100
"""That have a width of their own at least: for fewer, compiling costs more than it saves."""
LESS = 0.85
"""Of the next width's tokens that a width has at most."""


class Requests(NamedTuple):
    """What an editor is told of E cases: M facts of each.

    Attributes:
        batch: leaves lead with E and M; padded to the last of the widths.
        facts: M.
        widths: int[2] each, ascending: tokens that a prompt and an answer may be padded to.
        width_index: int[E], the first width that has room for a case.
    """

    batch: Request
    facts: int
    widths: list[np.ndarray]
    width_index: np.ndarray

    def of_edits(self, which: np.ndarray, narrow: bool = False) -> Request:
        """The requests of int[G, B] cases: G edits, each of all facts of its B cases.

        Args:
            narrow: pad to the first width that has room; else to the last, so that all have one shape.
        """
        prompt, answer = self.widths[self.width_index[which].max() if narrow else -1]
        request = Request(*(x[which].reshape(len(which), -1, *x.shape[2:]) for x in self.batch))
        surplus = request.prompt.shape[-1] - prompt
        return request._replace(
            prompt=request.prompt[..., surplus:],
            answer=request.answer[..., :answer],
            subject_end=request.subject_end - np.int32(surplus),
        )


def build_requests(
    tokenizer: Tokenizer, cases: Sequence[Case], beliefs: Sequence[list[Belief]]
) -> dict[str, Requests]:
    """What an editor is told of some cases, as arrays: the request under "", each control under its name.

    As many facts of every case; where there are fewer, the first again, not to be believed.

    Args:
        beliefs: told of each case, see `Method.facts_told`.
    """
    by_control = {"": beliefs}
    for name in dict.fromkeys(control.name for case in cases for control in case.controls):
        control_facts = [next((c.fact for c in case.controls if c.name == name), None) for case in cases]
        by_control[name] = [
            [Belief(fact, case.credence, some[0].weight)] if fact else some
            for case, fact, some in zip(cases, control_facts, beliefs, strict=True)
        ]
    facts = max(map(len, beliefs))
    lengths = {
        name: np.array([lengths_of(tokenizer, [belief.fact for belief in some]) for some in case_beliefs])
        for name, case_beliefs in by_control.items()
    }
    widths = widths_for(lengths[""])
    widths[-1] = np.max([widths[-1], *(some.max(axis=0) for some in lengths.values())], axis=0)
    requests = {}
    for name, case_beliefs in by_control.items():
        equal_beliefs = [[*some, *[Belief(some[0].fact, 0.0)] * (facts - len(some))] for some in case_beliefs]
        triples, credences, weights = zip(*(belief for some in equal_beliefs for belief in some), strict=True)
        batch = make_requests(tokenizer, triples, weights, credences, *widths[-1].tolist())
        width_index = np.array([narrowest_width(widths, one) for one in lengths[name]])
        requests[name] = Requests(group_requests(batch, facts), facts, widths, width_index)
    return requests


def tell_method(tokenizer: Tokenizer, cases: Sequence[Case], method: Method) -> dict[str, Requests]:
    """What a method is told of some cases: facts, or the sentences of cases that have some, as one text each.

    Raises:
        InputError: there are sentences, and the editor reads facts alone.
    """
    if method.reads_forms or not any(case.told for case in cases):
        return build_requests(tokenizer, cases, [method.tell_facts(case) for case in cases])
    if method.facts_told is not the_request or not trait_of(method.editor, "learns_text"):
        form = next(case.request.form for case in cases if case.told)
        raise InputError(
            f"{path_of(method.editor)} reads facts, and cannot be told a request of the form {form!r}; "
            "choose an editor that learns from text, such as lora-down or full, or keyed-forms"
        )
    wordings = [
        word_sentences(tokenizer, [*case.told] or sentences_of(case.request), case.learned) for case in cases
    ]
    batch = pack_wordings(wordings, [case.credence for case in cases])
    width = np.array([batch.prompt.shape[-1], batch.answer.shape[-1]])
    return {"": Requests(batch, 1, [width], np.zeros(len(cases), int))}


def lengths_of(tokenizer: Tokenizer, facts: Sequence[Triple]) -> np.ndarray:
    """int[2]: tokens of the longest prompt of some facts, and of their longest answer with its ending."""
    prompts = [len(tokenizer.prompt(*pair)) for pair in {fact[:2] for fact in facts}]
    answers = [1 + len(tokenizer.entity(o)) for o in {fact[2] for fact in facts}]
    return np.array([max(prompts), max(answers)])


def widths_for(lengths: np.ndarray) -> list[np.ndarray]:
    """What requests are padded to, ascending; the last holds all of them.

    Args:
        lengths: int[requests, 2], tokens of prompts and of answers.

    Returns:
        int[2] each: tokens of a prompt, and of an answer.
    """
    tokens = lengths.sum(axis=1)
    widths = [lengths.max(axis=0)]
    parts = min(MOST, len(lengths) // EDITS)
    for part in range(parts - 1, 0, -1):
        shorter = lengths[tokens <= np.quantile(tokens, part / parts, method="lower")].max(axis=0)
        if shorter.sum() <= LESS * widths[0].sum():
            widths.insert(0, shorter)
    return widths


def narrowest_width(widths: Sequence[np.ndarray], lengths: np.ndarray) -> int:
    """Index of the first width that holds a prompt and an answer of int[2] tokens, as the last one must."""
    return next(i for i, width in enumerate(widths) if (width >= lengths).all())
