"""Numbers without gold against brute force, and how well they predict against numbers that are known to."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayes.request import EditRequest
from corpus.text.tokenizer import BOS, EOS, PAD, SEP
from experiments.measures import text_numbers as text
from experiments.measures.edited_models import OUTCOMES, exact_outcomes, score_of
from experiments.measures.predictions import (
    JudgedWorld,
    correlate_ranks,
    decide,
    list_sure_pairs,
    predict_kinds,
    rank_in_world,
)
from experiments.measures.weight_change import describe_change, hyperspherical_energy
from lm.config import ModelConfig
from lm.editors.interface import Request
from lm.language_model import LanguageModel
from lm.loss import next_token_loss
from testbed.engine.questions import ModelAnswers
from testbed.evaluations.kinds import FOLLOWS, REQUEST, SPOT, STATED
from testbed.protocol import Case, Choice
from tests.toys import random_model

SEEDS = st.integers(0, 2**32 - 1)
CONFIG = ModelConfig(hidden=16, mlp=24, layers=2, heads=2, kv_heads=2, head_width=8)


def draw(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


@given(SEEDS)
def test_norms_of_a_change_are_numpys(seed):
    before, change = ({"a": draw(seed + i, 5, 7), "b": draw(seed + i + 9, 7, 4)} for i in (0, 1))
    energy = {name: hyperspherical_energy(matrix) for name, matrix in before.items()}
    found = describe_change(before, energy, change | {"unchanged": np.zeros((3, 3))})
    assert found["spectral norm"] == pytest.approx(max(np.linalg.norm(x, 2) for x in change.values()))
    assert found["Frobenius norm"] == pytest.approx(
        np.linalg.norm([np.linalg.norm(x) for x in change.values()])
    )
    assert 1 <= found["stable rank"] <= found["effective rank"] * 5 <= 25
    larger = describe_change(before, energy, {name: 3 * x for name, x in change.items()})
    for name in ("effective rank", "stable rank"):
        assert larger[name] == pytest.approx(found[name])


@given(SEEDS)
def test_an_outer_product_has_rank_one_and_an_orthogonal_matrix_full_rank(seed):
    one = describe_change({}, {}, {"a": np.outer(draw(seed, 6), draw(seed + 1, 4))})
    assert (one["effective rank"], one["stable rank"]) == pytest.approx((1, 1))
    assert one["hyperspherical energy, moved"] == 0
    full = describe_change({}, {}, {"a": np.linalg.qr(draw(seed, 6, 6))[0]})
    assert (full["effective rank"], full["stable rank"]) == pytest.approx((6, 6))
    assert set(describe_change({}, {}, {"a": np.zeros((2, 2))}).values()) == {0.0}


@given(SEEDS)
def test_energy_is_that_of_all_pairs_and_of_directions_alone(seed):
    matrix = draw(seed, 4, 6)
    unit = [column / np.linalg.norm(column) for column in matrix.T]
    pairs = [1 / np.linalg.norm(unit[i] - unit[j]) for i in range(6) for j in range(i)]
    assert hyperspherical_energy(matrix) == pytest.approx(np.mean(pairs))
    assert hyperspherical_energy(matrix * np.exp(draw(seed, 6))) == pytest.approx(np.mean(pairs))


@pytest.fixture(scope="module")
def model():
    return random_model(20, CONFIG, 3, times=1)


def request_of(*facts):
    prompts, answers = ([[BOS, s, r] for s, r, _ in facts], [[o, SEP] for *_, o in facts])
    rest = np.zeros(len(facts), np.float32)
    return Request(np.array(prompts, np.int32), np.array(answers, np.int32), rest.astype(int), rest, rest + 1)


def test_readings_of_edits_that_do_nothing_and_something(model):
    rows = np.array([[BOS, 9, 10, 11, SEP, 12, 13, EOS, BOS, 14, 15, PAD]], np.int32)
    some = jax.tree.map(lambda x: 0.3 * draw(1, *x.shape).astype(np.float32), model.params)
    deltas = {"weights": jax.tree.map(lambda x: jnp.stack([jnp.zeros_like(x), x]), some)}
    asked, counts = np.array([[BOS, 9, 10, 11, SEP] + [PAD] * 7], np.int32), np.zeros((1, 12), bool)
    counts[0, 2:4] = True
    twice = [np.concatenate([x, x]) for x in (asked, counts)]
    found = jax.tree.map(np.asarray, text.read_edited(model, deltas, rows, *twice, jax.random.key(0), 2))
    edited = jax.tree.map(jnp.add, model.params, some)
    for i, params in enumerate((model.params, edited)):
        assert found.nats[i] == pytest.approx(float(next_token_loss(CONFIG, params, rows, 64)), rel=1e-4)
        loss = float(text.request_loss(LanguageModel(CONFIG, params), request_of((9, 10, 11))))
        # The object and the stop behind it.
        assert -found.log_p[i, 2:4].mean() == pytest.approx(loss, rel=1e-4)
        noise = text.draw_noise(model.params, jax.random.key(0))
        shaken = [jax.tree.map(lambda x, n, k=k: x + n[k], params, noise) for k in range(text.DRAWS)]
        losses = [text.request_loss(LanguageModel(CONFIG, p), request_of((9, 10, 11))) for p in shaken]
        assert found.rise[i] == pytest.approx(float(np.mean(losses)) - loss, abs=1e-4)
    assert (found.kl[0], found.moved[0]) == pytest.approx((0, 0), abs=1e-5)
    assert found.kl[1] > 0.01
    assert found.moved[1] > 0.01


def test_a_fact_is_its_own_kin(model):
    same = text.measure_kinship(model, request_of((9, 10, 11)), request_of((9, 10, 11), (9, 10, 11)))
    other = text.measure_kinship(model, request_of((9, 10, 11)), request_of((12, 13, 14)))
    assert np.asarray(same) == pytest.approx((1, 1), abs=1e-4)
    assert float(other.max()) < 1 - 1e-3


def test_entropy_of_texts():
    assert text.ngram_entropy([1, 2, 1, 3, 1], 2) == pytest.approx(2)
    assert text.ngram_entropy([1, 1, 1], 2) == 0
    assert text.ngram_entropy([1], 2) == 0
    texts = np.array([[5, 5, 5, 5], [1, 2, 3, PAD]])
    assert text.generation_entropy(texts) == pytest.approx((0 + 1 / 3) / 2)


class Names:
    """Answers are one token."""

    @staticmethod
    def objects_of(tokens):
        return tokens[..., 0]


def answers_of(*distributions):
    ended = np.array(distributions)
    return ModelAnswers(ended, ended, 10 + ended.argmax(1)[:, None], np.zeros((0, 2)))


def test_outcomes_are_best_for_whoever_becomes_the_agent():
    belief = {REQUEST: (0.1, 0.9), FOLLOWS: (0.2, 0.8), STATED: (0.9, 0.1), SPOT: (0.7, 0.3)}
    options, old = np.array([10, 11]), np.array([0.8, 0.2])
    choices = tuple(
        Choice(role, 0, 0, options, np.array([old, p]), np.array([10, 10]), np.array([old, old]), 1)
        for role, p in belief.items()
    )
    case = Case(EditRequest(0, 0, 11, 1.0), 0.9, 10, {}, choices)
    before, agent = answers_of(*[old] * 4), answers_of(*belief.values())
    best = exact_outcomes(case, before, agent, Names)
    assert best == pytest.approx(dict(zip(OUTCOMES, (0, 0, 1, (0.6 + 0.1) / 2), strict=True)))
    worse = exact_outcomes(case, before, answers_of((0.1, 0.9), old, (0.4, 0.6), (0.2, 0.8)), Names)
    assert worse == pytest.approx(dict(zip(OUTCOMES, (0.4, 1, 0, (0.1 - 0.5) / 2), strict=True)))


def test_score_is_zero_where_a_share_is():
    assert score_of(1, 1, 0.5) == pytest.approx(3 / 4)
    assert score_of(1, 0, 1) == 0


def worlds_of(outcome_of, count=6, seed=0):
    worlds = []
    for i in range(count):
        numbers = {
            name: draw((seed, i, k), 6, 1) + 0.3 * draw((seed, i, k, 1), 6, 8) for k, name in enumerate("abc")
        }
        outcome = outcome_of(numbers)
        worlds.append(
            JudgedWorld(f"kind {i % 3}", 2, numbers, {"o": outcome}, {"o": list_sure_pairs(outcome)})
        )
    return worlds


@given(SEEDS)
def test_decisions_of_the_outcome_itself_and_of_nothing(seed):
    worlds = worlds_of(lambda numbers: numbers["a"], seed=seed)
    worse = [one._replace(numbers={"a": -one.numbers["a"], "c": 0 * one.numbers["c"]}) for one in worlds]
    for some in (worlds, worse):
        assert decide(some, some, "a", "o").value == 1
    assert decide(worse, worse, "c", "o").value == 0.5


@given(SEEDS)
def test_who_surely_has_more_has_more(seed):
    outcome = draw(seed, 5, 6)
    pairs = list_sure_pairs(outcome)
    assert all(outcome[i].mean() > outcome[j].mean() for i, j in pairs)
    assert sorted(list_sure_pairs(-outcome)) == sorted((j, i) for i, j in pairs)


def test_the_numbers_that_make_an_outcome_are_chosen():
    worlds = worlds_of(lambda numbers: rank_in_world(numbers["a"]) - rank_in_world(numbers["b"]))
    predicted, taken, r2 = predict_kinds(worlds, "o", [("a", "b"), ("a", "c"), ("b", "c")])
    assert taken == [("a", "b")] * 3
    assert r2 > 0.8
    assert all(correlate_ranks(p, one.outcomes["o"]) > 0.95 for p, one in zip(predicted, worlds, strict=True))
    _, _, without = predict_kinds(worlds, "o", [("c",)])
    assert without < 0.2


def test_what_is_missing_is_in_the_middle():
    assert rank_in_world(np.array([3.0, np.nan, 1.0, 2.0])).tolist() == [0.5, 0, -0.5, 0]
    assert np.isnan(correlate_ranks(np.ones(4), np.arange(4.0)))
