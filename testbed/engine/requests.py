"""What an editor is told of every case, as arrays that are built once, in few widths.

Requests of many lengths are padded to one of few widths: each is a program more to compile, and less padding
to compute.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from corpus.errors import InputError
from corpus.text.tokenizer import Tokenizer
from lm.editors.interface import Request, group_requests, make_requests, trait_of
from testbed.engine.methods import Belief, Method, Triple, the_request
from testbed.engine.versions import path_of
from testbed.engine.wording import pack_wordings, sentences_of, word_sentences
from testbed.protocol import Case

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
