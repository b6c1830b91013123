"""Claims that bind each other, and the sure loss of who bets at a model's truth values (design.md 6).

A model that gives probabilities to related sentences offers prices for tickets that pay 1 if a sentence
is so. Where no joint distribution of A and B has those prices, stakes exist that win whatever is true
(de Finetti 1937).
"""

import numpy as np

from corpus.text.language import Atom, Kind, Sentence
from testbed.protocol import Claim

LOGIC = ("A", "not A", "A and B", "B and A", "A or B", "B", "not B", "B or A")
"""Roles of the claims about two statements A and B."""


def logical_claims(a: Atom, b: Atom, p: np.ndarray, q: np.ndarray) -> tuple[Claim, ...]:
    """The claims of LOGIC about two statements, believed with p and q, float64[T], independently."""
    sentences = (
        (Sentence(Kind.TRUTH, True, a), p),
        (Sentence(Kind.NOT, True, a), 1 - p),
        (Sentence(Kind.AND, True, a, b), p * q),
        (Sentence(Kind.AND, True, b, a), p * q),
        (Sentence(Kind.OR, True, a, b), p + q - p * q),
        (Sentence(Kind.TRUTH, True, b), q),
        (Sentence(Kind.NOT, True, b), 1 - q),
        (Sentence(Kind.OR, True, b, a), p + q - p * q),
    )
    return tuple(Claim(role, *one) for role, one in zip(LOGIC, sentences, strict=True))


def sure_loss(prices: np.ndarray, answer: np.ndarray | None = None) -> np.ndarray:
    """The most that a bettor is sure to win for each unit staked, in closed form.

    "S is true" and "S is false" are separate tickets, so their prices need not sum to one. Tickets are
    bought or sold at the price; the stake is the number of tickets of either sort. By linear
    programming duality the sure gain equals the largest distance, in any one price, to the nearest
    coherent prices. Those are fixed by a = p(A), b = p(B), c = p(A and B) and d = p(A or B) = a + b - c
    with c >= 0, c <= a, c <= b and d <= 1. Each ticket is an estimate of one of the four, so prices
    within t of coherent ones mean highest - t <= x <= lowest + t for each x of the four, highest and
    lowest being its estimates' extremes. Eliminating c, then a and b (Fourier-Motzkin) leaves the lower
    bounds on t below; those that hold for any prices within [0, 1] are left out.

    Args:
        prices: float64[..., len(LOGIC), 2] within [0, 1], p(true) and p(false) of each statement of LOGIC.
        answer: float64[...], a further price of A: what the model itself gives its object, asked for it.

    Returns:
        float64[...], 0 where the prices are coherent, at most 1/2.
    """
    true = np.stack([prices[..., 0], 1 - prices[..., 1]], axis=-1)
    a, not_a, a_and_b, b_and_a, a_or_b, b, not_b, b_or_a = np.moveaxis(true, -2, 0)

    def price_range(*estimates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        together = np.concatenate(estimates, axis=-1)
        return together.min(-1), together.max(-1)

    answers = () if answer is None else (answer[..., None],)
    a_low, a_high = price_range(a, 1 - not_a, *answers)
    b_low, b_high = price_range(b, 1 - not_b)
    c_low, c_high = price_range(a_and_b, b_and_a)
    d_low, d_high = price_range(a_or_b, b_or_a)
    bounds = (
        # c <= a <= d, c <= b <= d, and one statement at two prices.
        (np.maximum(a_high, c_high) - np.minimum(a_low, d_low)) / 2,
        (np.maximum(b_high, c_high) - np.minimum(b_low, d_low)) / 2,
        (c_high - c_low) / 2,
        (d_high - d_low) / 2,
        # a + b = c + d, with 0 <= c and d <= 1.
        (a_high + b_high - c_low - d_low) / 4,
        (c_high + d_high - a_low - b_low) / 4,
        (a_high + b_high - c_low - 1) / 3,
        (d_high - a_low - b_low) / 3,
    )
    return np.max(bounds, axis=0)
