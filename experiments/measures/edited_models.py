"""Edited models of one world, each with its numbers without gold and its exact outcomes."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from corpus.seeds import generator, integer
from corpus.text.language import Atom, Kind, Sentence
from corpus.text.store import open_documents
from corpus.text.tokenizer import PAD
from experiments.measures.field_questions import (
    CONSEQUENCE,
    NEIGHBOUR,
    TARGET,
    add_questions,
    answer_numbers,
    exact_outcomes,
    find_facts,
    score_of,
)
from experiments.measures.text_numbers import as_weights, generation_entropy, measure_kinship, read_edited
from experiments.measures.weight_change import describe_change, hyperspherical_energy
from lm.batches import PackedRows
from lm.delta import Delta, scale_delta
from lm.editors.interface import CorpusSample, Request, make_requests
from lm.model import Params
from testbed.engine.checks import prepare_editor
from testbed.engine.methods import Method, Triple
from testbed.engine.prepared_editor import PreparedEditor
from testbed.engine.questions import ModelAnswers, Questions
from testbed.engine.requests import tell_method, word_sentences
from testbed.open_run import OpenRun
from testbed.protocol import Case
from testbed.run.model import corpus_sample

ROWS, LENGTH = 4, 160
"""Rows of text, and tokens of each."""
PARAPHRASES = 3
"""Sentences that the request is asked behind."""
FACTS = 4
"""That gradients of others are of."""


class EditedModels:
    """All edits of some cases of a run, by one method after another.

    Args:
        cases: each contradicts the world's truth.
    """

    def __init__(self, run: OpenRun, cases: Sequence[Case], seed: int) -> None:
        self.run, self.cases, self.seed = run, cases, seed
        # There are many programs, and a layer at a time is compiled faster.
        self.model = replace(run.model, config=replace(run.model.config, unroll=1))
        rng, graph, truth = generator(seed, "judge"), run.world.graph, run.world.generative.truth
        self.facts = [find_facts(run.world, case, rng) for case in cases]
        asked = [add_questions(run.world, case, some) for case, some in zip(cases, self.facts, strict=True)]
        self.questions = Questions(run.world, self.model, asked, seed)
        self.rows = PackedRows(open_documents(run.run.corpus), LENGTH, seed).batch(0, ROWS)
        self.sample = corpus_sample(run.run, run.world, cases, seed)
        stated = rng.choice(run.world.stated_facts, PARAPHRASES)
        behind = [(int(graph.subject[f]), int(graph.relation[f]), int(truth[f])) for f in stated]
        packed = [self._pack_request(case, behind) for case in cases]
        self.asked, self.document = (np.stack(arrays) for arrays in zip(*packed, strict=True))
        self.kinship = self._measure_kinship()
        self.matrices = name_matrices(self.model.params)
        self.energy = {name: hyperspherical_energy(matrix) for name, matrix in self.matrices.items()}

    def _pack_request(self, case: Case, behind: Sequence[Triple]) -> tuple[np.ndarray, np.ndarray]:
        """The request alone and behind each of some facts, with the new object and then with the old one.

        Returns:
            int32[LENGTH] tokens of these documents; and int32[LENGTH], before each token of an object and its
            ending the number of the document from 1, else 0.
        """
        tokens, document, at = np.full(LENGTH, PAD, np.int32), np.zeros(LENGTH, np.int32), 0
        pairs = [
            (before, o) for o in (case.request.object, case.truth) for before in ([], *([f] for f in behind))
        ]
        for number, (before, o) in enumerate(pairs, start=1):
            atoms = [Atom(*fact) for fact in (*before, (*case.request[:2], o))]
            sentences = [Sentence(Kind.ATOMIC, None, atom) for atom in atoms]
            context, learned = word_sentences(self.run.world.tokenizer, sentences)
            middle, end = at + len(context), at + len(context) + len(learned)
            tokens[at:end] = [*context, *learned]
            document[middle - 1 : end - 1] = number
            at = end
        return tokens, document

    def _requests(self, facts: Sequence[Sequence[Triple]]) -> Request:
        """Facts as requests: leaves lead with cases and as many facts of each."""
        flat = [fact for some in facts for fact in some]
        made = make_requests(self.run.world.tokenizer, flat, np.ones(len(flat)), np.ones(len(flat)))
        return jax.tree.map(lambda x: x.reshape(len(facts), -1, *x.shape[2:]), made)

    def _measure_kinship(self) -> list[dict[str, float]]:
        """Of each case, GradSim and overlap with consequences and with neighbours; nan without any."""
        found: list[dict[str, float]] = [{} for _ in self.cases]
        request = self._requests([facts[TARGET] for facts in self.facts])
        for role, whose in ((CONSEQUENCE, "consequences"), (NEIGHBOUR, "neighbours")):
            some = [facts[role] or facts[TARGET] for facts in self.facts]
            others = self._requests([[one[i % len(one)] for i in range(FACTS)] for one in some])
            for i, numbers in enumerate(found):
                pair = [jax.tree.map(lambda x, i=i: x[i], x) for x in (request, others)]
                values = measure_kinship(self.model, *pair) if self.facts[i][role] else [np.nan] * 2
                names = (f"GradSim, {whose}", f"overlap, {whose}")
                numbers |= dict(zip(names, map(float, values), strict=True))
        return found

    def edit_all(
        self, method: Method, strengths: Sequence[float]
    ) -> Iterator[tuple[dict[str, float], dict[str, float]]]:
        """Numbers and outcomes of every edit at the first strength, then at the next one."""
        questions, count, model = self.questions, len(self.cases), self.model
        made = edit_cases(questions, self.cases, method, self.sample, self.seed)
        scaled = [scale_delta(made, strength) for strength in strengths]
        deltas = jax.tree.map(lambda *parts: jnp.concatenate(parts), *scaled)
        which = np.tile(np.arange(count), len(strengths))
        asked, document = self.asked[which], self.document[which]
        key = jax.random.key(integer(self.seed, "judge"))
        read: Any = jax.tree.map(
            np.asarray, read_edited(model, deltas, self.rows, asked, document == 1, key, count)
        )
        before = questions.answers_before(which[:, None])
        after = questions.answers_after(deltas, which[:, None])
        texts = np.asarray(questions.texts_after(deltas, which[:, None]).tokens)
        for i, c in enumerate(which.tolist()):
            case, facts, both = questions.cases[c], self.facts[c], (_of(before, i), _of(after, i))
            numbers = answer_numbers(case, *both, questions.names, facts)
            said = np.exp(np.bincount(document[i], read.log_p[i])[1:]).reshape(2, -1)[:, 1:]
            numbers |= {
                "teacher-forced accuracy": read.is_top[i][document[i] == 1].mean(),
                "paraphrase: probability": said[0].mean(),
                "paraphrase: new over old": (said[0] > said[1]).mean(),
                "KL on text": read.kl[i],
                "perplexity": np.exp(read.nats[i]),
                "states moved": read.moved[i],
                "sharpness": read.rise[i],
                "generation entropy": generation_entropy(texts[i]),
            }
            added = jax.tree.map(lambda x, i=i: x[i], deltas)
            change = name_matrices(added.get("weights") or {"memory": added["memory"].values})
            numbers |= describe_change(self.matrices, self.energy, change)
            shares = ("efficacy: new over old", "paraphrase: new over old", "neighbours: old over new")
            numbers["score S"] = score_of(*(float(numbers[name]) for name in shares))
            yield numbers | self.kinship[c], exact_outcomes(case, *both, questions.names)


def edit_cases(
    questions: Questions, cases: Sequence[Case], method: Method, sample: CorpusSample, seed: int
) -> Delta:
    """Every case's edit of the model that is asked, as weights; leaves lead with cases.

    Args:
        cases: those that the questions are of, or the same with fewer questions.
    """
    model = questions.model
    state = prepare_editor(method.editor, model, sample)
    requests = tell_method(questions.tokenizer, cases, method)
    editor = PreparedEditor(questions, method, state, requests, seed)
    made = editor.edit(np.arange(len(cases))[:, None]).deltas
    return jax.vmap(lambda delta: as_weights(delta, model.params))(made)


def name_matrices(tree: Params) -> dict[str, np.ndarray]:
    """Matrices of parameters, or what is added to them, by name: inputs by neurons, vectors at names too."""
    found: dict[str, np.ndarray] = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        name, array = jax.tree_util.keystr(path), np.asarray(leaf, float)
        if array.ndim == 3:
            found |= {f"{name}{i}": one for i, one in enumerate(array)}
        elif name in ("['embedding']", "['head']['kernel']"):
            found[name] = array.T if name == "['embedding']" else array
    return found


def _of(answers: ModelAnswers, i: int) -> ModelAnswers:
    return ModelAnswers(*(x[i] for x in answers))
