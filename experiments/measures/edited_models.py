"""Edited models of one world, each with its numbers without gold and its exact outcomes.

Questions are those that benchmarks ask without an agent. As benchmarks draw theirs from a knowledge base,
these are of the facts that the corpus states: neighbours have the old object (COUNTERFACT), others are
anybody (zsRE's locality), own are the subject's other facts, and a consequence is what most of those who have
the new object have besides, where it is not what most of those with the old one have (RippleEdits, MQuAKE).
Exact outcomes are by the agent's posterior.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import hmean

from corpus.seeds import generator, integer
from corpus.text.language import Atom, Kind, Sentence
from corpus.text.store import open_documents
from corpus.text.tokenizer import BOS, PAD
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
from testbed.evaluations.kinds import FOLLOWS, OTHERS_FOLLOW, OTHERS_STAY, REQUEST, SILENT, SPOT, STATED
from testbed.open_run import OpenRun
from testbed.protocol import ABSENT, Case, Choice, Claim, Passage, is_equally_good
from testbed.run.model import corpus_sample
from testbed.run.object_names import ObjectNames
from testbed.run.world import World
from testbed.scores.distances import total_variation, with_remainder

TARGET, NEIGHBOUR, OTHER, OWN, CONSEQUENCE = "target", "neighbour", "other", "own", "consequence"
MOST = 4
"""Questions of a role."""
WRITTEN = (4, 48, 1.0, 5)
"""Texts about the subject, most tokens of each, temperature, and top k, as ROME writes them."""
OUTCOMES = ("damage", "false changes", "followed", "coherence")


def find_facts(world: World, case: Case, rng: np.random.Generator) -> dict[str, list[Triple]]:
    """Facts by role: each with the object that a benchmark takes for right."""
    (subject, relation, new), old = case.requested_fact, case.truth
    stated = world.stated_facts
    s, r, o = world.graph.subject[stated], world.graph.relation[stated], world.generative.truth[stated]

    def find_consequence(q: int) -> int:
        common = []
        for cause in (new, old):
            holders = s[(r == relation) & (o == cause) & (s != subject)]
            among = Counter(o[np.isin(s, holders) & (r == q)].tolist()).most_common(1)
            common.append(among[0][0] if among else ABSENT)
        return common[0] if ABSENT not in common and common[0] != common[1] else ABSENT

    masks = {
        NEIGHBOUR: (r == relation) & (o == old) & (s != subject),
        OTHER: s != subject,
        OWN: (s == subject) & (r != relation),
    }
    found = {
        role: [(int(s[i]), int(r[i]), int(o[i])) for i in rng.permutation(np.flatnonzero(mask))[:MOST]]
        for role, mask in masks.items()
    }
    relations = np.setdiff1d(world.graph.relation[world.graph.facts_of(subject)], relation).tolist()
    moved = [(subject, q, answer) for q in relations if (answer := find_consequence(q)) != ABSENT]
    return found | {TARGET: [(subject, relation, new)], CONSEQUENCE: moved[:MOST]}


def add_questions(world: World, case: Case, facts: dict[str, list[Triple]]) -> Case:
    """The case with the questions of a benchmark behind its own, which tell no editor anything."""
    choices = []
    for role, some in facts.items():
        for s, r, o in some:
            pair = [case.truth, case.request.object] if role in (TARGET, NEIGHBOUR) else [o]
            nothing = np.zeros((2, len(pair)))
            answers = np.full(2, ABSENT)
            choices.append(Choice(role, s, r, np.unique(pair), nothing, answers, nothing, ABSENT))
    sentence = Sentence(Kind.TRUTH, True, Atom(*case.requested_fact))
    opening = np.array([BOS, *world.tokenizer.entity(case.request.subject)], np.int32)
    return case._replace(
        choices=(*case.choices, *(c._replace(is_spot_check=True) for c in choices)),
        claims=(Claim(TARGET, sentence, np.zeros(2)),),
        passages=(Passage(TARGET, opening, *WRITTEN),),
    )


def mean_or_nan(values: Sequence[float] | np.ndarray) -> float:
    """The mean; nan of nothing."""
    return float(np.mean(values)) if len(values) else float("nan")


def answer_numbers(
    case: Case, before: ModelAnswers, after: ModelAnswers, names: ObjectNames, facts: dict[str, list[Triple]]
) -> dict[str, float]:
    """What a benchmark makes of one edited model's answers to `add_questions`.

    Args:
        before, after: readings of this case, without a leading axis.
    """
    new, old, wanted = case.request.object, case.truth, [o for some in facts.values() for *_, o in some]
    says = [names.objects_of(np.asarray(answers.tokens)) for answers in (before, after)]
    places = {role: [i for i, c in enumerate(case.choices) if c.role == role] for role in facts}
    first = len(case.choices) - len(wanted)

    def probability(i: int, obj: int) -> float:
        return float(after.ended[i][: len(case.choices[i].options)][case.choices[i].options == obj].sum())

    def share_unchanged(role: str) -> float:
        return mean_or_nan([says[0][i] == says[1][i] for i in places[role]])

    def list_gaps(role: str) -> list[float]:
        return [probability(i, new) - probability(i, old) for i in places[role]]

    request = next(i for i, c in enumerate(case.choices) if c.role == REQUEST)
    belief = with_remainder(np.array(after.ended[request][: len(case.choices[request].options)], float))
    (asked,), (margin,) = places[TARGET], list_gaps(TARGET)
    true, false = after.claims[0]
    return {
        "efficacy: probability": probability(asked, new),
        "efficacy: new over old": float(margin > 0),
        "efficacy: margin": margin,
        "efficacy: generated": float(says[1][asked] == new),
        "claim judged true": float(true / (true + false)),
        "neighbours: old over new": mean_or_nan([x < 0 for x in list_gaps(NEIGHBOUR)]),
        "neighbours: margin": -mean_or_nan(list_gaps(NEIGHBOUR)),
        "neighbours: unchanged": share_unchanged(NEIGHBOUR),
        "others: unchanged": share_unchanged(OTHER),
        "own facts: unchanged": share_unchanged(OWN),
        "portability: probability": mean_or_nan(
            [probability(i, wanted[i - first]) for i in places[CONSEQUENCE]]
        ),
        "portability: generated": mean_or_nan([says[1][i] == wanted[i - first] for i in places[CONSEQUENCE]]),
        "entropy of the answer": float(-np.sum(belief * np.log(np.maximum(belief, 1e-12)))),
    }


def score_of(efficacy: float, paraphrase: float, neighbours: float) -> float:
    """COUNTERFACT's S: the harmonic mean of three shares, 0 where one of them is."""
    return float(hmean([efficacy, paraphrase, neighbours]))


def exact_outcomes(
    case: Case, before: ModelAnswers, after: ModelAnswers, names: ObjectNames
) -> dict[str, float]:
    """OUTCOMES of one edited model; nan where nothing was there to be damaged, changed or followed.

    Damage: distance to the agent that random facts of others gain, 0 where they come nearer. False changes:
    of right answers that the agent keeps, the share that are wrong now. Followed: of answers that it changes,
    those that are right now. Coherence: the distance to it that these and kept answers lose.
    """
    far, right = [], []
    for answers in (before, after):
        said = names.objects_of(np.asarray(answers.tokens))
        far.append(
            [
                float(total_variation(p[: len(c.options)].astype(float), c.agent[1]))
                for c, p in zip(case.choices, answers.ended, strict=False)
            ]
        )
        right.append(
            [
                bool(is_equally_good(c.agent[1][c.options == answer].sum(), c.agent[1].max()))
                for c, answer in zip(case.choices, said.tolist(), strict=False)
            ]
        )
    gain, role = np.array(far[0]) - np.array(far[1]), np.array([c.role for c in case.choices])
    was, is_now = map(np.array, right)
    stays, follows = np.isin(role, (STATED, SILENT, OTHERS_STAY)), np.isin(role, (FOLLOWS, OTHERS_FOLLOW))
    values = (
        np.maximum(-gain[role == SPOT], 0), ~is_now[stays & was], is_now[follows], gain[stays | follows]
    )  # fmt: skip
    return dict(zip(OUTCOMES, map(mean_or_nan, values), strict=True))


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
