"""What `self-bayes` finds out about a world from the beliefs of its model, beside what is."""

from typing import NamedTuple

import numpy as np

from lm.editors.interface import vocabulary_of
from lm.editors.self_bayes import SelfBayesConfig
from lm.editors.self_bayes.beliefs import Beliefs, read_beliefs
from lm.editors.self_bayes.dependence import find_dependence
from testbed.run.model import load_model
from testbed.run.runs import Run
from testbed.run.world import World


class Search(NamedTuple):
    """What was found in one model, beside what is.

    Attributes:
        pairs: of relations of which one depends on the other, and of others.
        auc: None without pairs of both kinds.
        found, false, right: dependences in the likeliest forest that exist in either direction, that do not,
            and that exist in this direction.
        persists: mean probability that facts of what depends persist, over dependences that exist; None
            where none was found.
        brier: mean squared error of the probabilities that pairs hang together.
    """

    pairs: tuple[int, int]
    auc: float | None
    found: int
    false: int
    right: int
    persists: float | None
    brier: float


def read_run_beliefs(run: Run, world: World) -> Beliefs:
    """What the model of a run believes, as the editor reads it."""
    return read_beliefs(load_model(run, world)[0], vocabulary_of(world.tokenizer), SelfBayesConfig().beliefs)


def search_dependence(beliefs: Beliefs, upstream: np.ndarray) -> Search:
    """What the editor finds in beliefs, and never in the world.

    Args:
        upstream: int[R], what each relation does depend on, or -1.
    """
    dependence = find_dependence(beliefs, SelfBayesConfig().dependence)
    return compare_forests(dependence.parent, dependence.link_probability, upstream, dependence.persists)


def compare_forests(
    parent: np.ndarray, linked: np.ndarray, upstream: np.ndarray, persists: np.ndarray | None = None
) -> Search:
    """A forest that was found, beside the one that is.

    Args:
        parent: int[R], what each relation depends on in the forest that was found, or -1.
        linked: float[R, R], p(either of two relations depends on the other).
        upstream: int[R], what each relation does depend on, or -1.
        persists: float[R], p(a subject's fact is drawn once); None where it was not asked.
    """
    up, down = np.triu_indices(len(upstream), 1)
    depend = (upstream[up] == down) | (upstream[down] == up)
    probability = linked[up, down]
    yes, no = probability[depend], probability[~depend]
    auc = ((yes[:, None] > no) + 0.5 * (yes[:, None] == no)).mean() if len(yes) and len(no) else None
    children = np.flatnonzero(parent >= 0)
    parents = parent[children]
    right = upstream[children] == parents
    either = right | (upstream[parents] == children)
    return Search(
        (len(yes), len(no)),
        None if auc is None else float(auc),
        int(either.sum()),
        int((~either).sum()),
        int(right.sum()),
        None if persists is None or not either.any() else float(persists[children[either]].mean()),
        float(((probability - depend) ** 2).mean()),
    )
