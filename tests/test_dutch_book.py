"""Sure losses: none at coherent prices, and elsewhere what an explicit book wins in every world."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.optimize import linprog

from testbed.evaluations.dutch_book import LOGIC, sure_loss

TRUTH = {
    "A": lambda a, _: a, "not A": lambda a, _: not a, "B": lambda _, b: b,
    "A and B": lambda a, b: a and b, "B and A": lambda a, b: b and a, "A or B": lambda a, b: a or b,
    "not B": lambda _, b: not b, "B or A": lambda a, b: b or a,
}  # fmt: skip
HOLDS = np.array([[TRUTH[s](a, b) for s in LOGIC] for a in (True, False) for b in (True, False)], float)
WORLDS = np.stack([HOLDS, 1 - HOLDS], axis=-1).reshape(4, -1)
"""float[worlds, tickets], what each ticket pays in each world."""
TICKETS = WORLDS.shape[1]

# The solver that these tests ask drops coefficients below 1e-9, so prices are kept to a grid.
price = st.integers(0, 4096).map(lambda ticks: ticks / 4096)


def told(a, b, both, either):
    """Prices of who is of one mind about each of A, B, A and B, and A or B, but not about all together."""
    believed = {"A": a, "not A": 1 - a, "B": b, "A and B": both, "B and A": both, "A or B": either}
    believed |= {"not B": 1 - b, "B or A": either}
    return np.array([[believed[name], 1 - believed[name]] for name in LOGIC])


any_prices = st.one_of(
    arrays.arrays(float, (len(LOGIC), 2), elements=price), st.builds(told, price, price, price, price)
)
joints = arrays.arrays(float, 4, elements=st.floats(0, 1)).filter(lambda p: p.sum() > 0.01)


def best_book(prices):
    """Stakes on each ticket, of total size 1, whose smallest gain over the worlds is largest."""
    gains = WORLDS - prices.ravel()
    optimum = linprog(
        c=[*np.zeros(2 * TICKETS), -1.0],
        A_ub=np.vstack([np.hstack([-gains, gains, np.ones((4, 1))]), [*np.ones(2 * TICKETS), 0.0]]),
        b_ub=[0, 0, 0, 0, 1],
        bounds=[(0, None)] * (2 * TICKETS) + [(None, None)],
    )
    return optimum.x[:TICKETS] - optimum.x[TICKETS:-1]


def nearest_joint(prices, worlds=WORLDS):
    """The distribution over worlds whose prices are nearest in the largest difference."""
    minus = -np.ones(len(prices.ravel()))
    optimum = linprog(
        c=[0, 0, 0, 0, 1.0],
        A_ub=np.vstack([np.c_[worlds.T, minus], np.c_[-worlds.T, minus]]),
        b_ub=np.r_[prices.ravel(), -prices.ravel()],
        A_eq=[[1, 1, 1, 1, 0]],
        b_eq=[1],
    )
    return optimum.x[:4]


@given(any_prices)
def test_an_explicit_book_wins_it_in_every_world_and_no_book_wins_more(prices):
    stakes = best_book(prices)
    assert np.abs(stakes).sum() <= 1 + 1e-9
    assert ((WORLDS - prices.ravel()) @ stakes).min() == pytest.approx(sure_loss(prices), abs=1e-9)
    # A bettor's gain averaged over any joint distribution is at most the distance to its prices.
    distance = np.abs(nearest_joint(prices) @ WORLDS - prices.ravel()).max()
    assert distance == pytest.approx(sure_loss(prices), abs=1e-9)


@given(any_prices, price)
def test_the_answer_is_one_more_ticket_on_the_request(prices, answer):
    worlds = np.c_[WORLDS, HOLDS[:, LOGIC.index("A")]]
    offered = np.r_[prices.ravel(), answer]
    distance = np.abs(nearest_joint(offered, worlds) @ worlds - offered).max()
    assert distance == pytest.approx(sure_loss(prices, np.array(answer)), abs=1e-9)


@given(joints)
def test_coherent_prices_cannot_be_booked(joint):
    prices = (joint / joint.sum() @ WORLDS).reshape(len(LOGIC), 2)
    assert sure_loss(prices) == pytest.approx(0, abs=1e-12)


@given(any_prices, joints, st.floats(0, 1))
def test_it_shrinks_as_prices_approach_coherent_ones(prices, joint, weight):
    coherent = (joint / joint.sum() @ WORLDS).reshape(len(LOGIC), 2)
    mixed = (1 - weight) * prices + weight * coherent
    assert sure_loss(mixed) <= (1 - weight) * sure_loss(prices) + 1e-12


@given(any_prices)
def test_it_is_at_most_a_half(prices):
    assert -1e-12 <= sure_loss(prices) <= 0.5


@pytest.mark.parametrize("both", [0.0, 0.2, 0.5])
def test_dependent_statements_are_coherent_too(both):
    """Only the laws of probability are asked for, not that A and B are independent."""
    prices = (np.array([both, 0.5 - both, 0.5 - both, both]) @ WORLDS).reshape(len(LOGIC), 2)
    assert sure_loss(prices) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("beliefs", "loss"),
    [
        ((0.5, 0.5, 0.25, 0.75), 0),
        # Sell A and B and buy the conjunction: 1.3 for what never costs more than 1.
        ((0.9, 0.9, 0.5, 1.0), 0.1),
        # Buy A and B and sell the disjunction: 0.3 for what never costs anything.
        ((0.1, 0.1, 0.0, 0.5), 0.1),
        # Sell a conjunction that is dearer than A, and buy A.
        ((0.2, 0.9, 0.6, 0.9), 0.2),
        # A and B cost more together than the conjunction and the disjunction do.
        ((0.5, 0.5, 0.2, 0.6), 0.05),
    ],
)
def test_by_hand(beliefs, loss):
    assert sure_loss(told(*beliefs)) == pytest.approx(loss)


def test_one_statement_at_two_prices():
    prices = told(0.5, 0.5, 0.25, 0.75)
    prices[LOGIC.index("A")] = 0.6, 0.6
    # Sell both tickets on A for 1.2; one of them pays 1.
    assert sure_loss(prices) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("name", "prices"), [("not B", (0.7, 0.3)), ("B or A", (0.95, 0.05)), ("not A", (0.7, 0.3))]
)
def test_every_statement_has_its_price_in_the_book(name, prices):
    """Statements at .5, conjunctions at .25, disjunctions at .75; then one of them dearer."""
    fair = told(0.5, 0.5, 0.25, 0.75)
    assert sure_loss(fair) == pytest.approx(0)
    fair[LOGIC.index(name)] = prices
    # Two prices that are .2 apart: sell the dear one, buy the other, and win .2 for a stake of 2.
    assert sure_loss(fair) == pytest.approx(0.1)


def test_many_at_once():
    prices = np.random.default_rng(0).random((3, 7, len(LOGIC), 2))
    losses = sure_loss(prices)
    assert losses.shape == (3, 7)
    assert losses[2, 5] == sure_loss(prices[2, 5])


def test_the_books_of_five_thousand_edits_take_no_time():
    prices = np.random.default_rng(0).random((5000, 10, len(LOGIC), 2))
    began = time.perf_counter()
    sure_loss(prices)
    assert time.perf_counter() - began < 2
