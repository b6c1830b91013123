"""What a case asks as few trees of tokens.

All questions are texts: "<s> subject relation object" for every option of a choice, and sentences up to "is".
In trees of tokens a model reads them in one pass, and once what several of them begin with.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from corpus.text.tokenizer import BOS, Tokenizer
from lm.token_tree import TokenTree, build_token_tree, list_beginnings
from testbed.protocol import Case

NODES = 128
"""Of a tree, unless one question needs more: in larger ones attention computes more that nobody sees."""


class PackedCase(NamedTuple):
    """What one case asks; nodes are counted through all its trees.

    Attributes:
        trees: of all texts.
        node: the nodes whose next token is asked for.
        options: for each choice and option the place where the prompt ends, and those of the option's tokens.
        prompts: for each choice the nodes of the prompt.
        claims: the place where each sentence ends.
    """

    trees: list[TokenTree]
    node: np.ndarray
    options: list[list[np.ndarray]]
    prompts: list[np.ndarray]
    claims: list[int]


class _Question(NamedTuple):
    """A choice or a claim: the texts that are read for it, and how many tokens of each are its prompt."""

    texts: list[np.ndarray]
    prompt: int


def pack_case(tokenizer: Tokenizer, case: Case) -> PackedCase:
    """The texts of a case in as many trees as they need, each question in the first with room for it."""
    questions = _case_questions(tokenizer, case)
    trees: list[TokenTree] = []
    nodes: dict[int, list[np.ndarray]] = {}
    size = 0
    for together in _share_trees(questions):
        tree, paths = build_token_tree([text for q in together for text in questions[q].texts])
        own = iter(paths)
        nodes |= {q: [size + next(own) for _ in questions[q].texts] for q in together}
        trees.append(tree)
        size += len(tree.tokens)
    behind = [[path[one.prompt - 1 :] for path in nodes[q]] for q, one in enumerate(questions)]
    wanted = np.zeros(size, bool)
    for path in (path for paths in behind for path in paths):
        wanted[path] = True
    number = np.cumsum(wanted) - 1
    places, choices = [[number[path] for path in paths] for paths in behind], len(case.choices)
    prompts = [nodes[q][0][: questions[q].prompt] for q in range(choices)]
    claims = [int(paths[0][0]) for paths in places[choices:]]
    return PackedCase(trees, np.flatnonzero(wanted), places[:choices], prompts, claims)


def _share_trees(questions: Sequence[_Question]) -> list[list[int]]:
    """Which questions, by their numbers, share a tree."""
    trees: list[tuple[list[int], set]] = []
    for number, question in enumerate(questions):
        own = list_beginnings(question.texts)
        tree = next((tree for tree in trees if len(tree[1] | own) <= NODES), None)
        if tree is None:
            trees.append(tree := ([], set()))
        tree[0].append(number)
        tree[1].update(own)
    return [numbers for numbers, _ in trees]


def _case_questions(tokenizer: Tokenizer, case: Case) -> list[_Question]:
    """All choices, then all claims."""
    questions = []
    for choice in case.choices:
        prompt = tokenizer.prompt(choice.subject, choice.relation, choice.phrasing)
        texts = [np.concatenate([prompt, tokenizer.entity(int(o))]) for o in choice.options]
        questions.append(_Question(texts or [prompt], len(prompt)))
    for claim in case.claims:
        sentence = np.concatenate([[BOS], tokenizer.sentence(claim.sentence)[:-1]])
        questions.append(_Question([sentence], len(sentence)))
    return questions
