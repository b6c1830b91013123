"""What `self-bayes` finds in a model: which relations hang together, whether facts persist, and whole rows.

Read from the model and its language alone, but for one column that says what the world is, so that a failure
of the editor can be traced to what it took the world for.
"""

from collections import Counter
from typing import Any

import numpy as np

from corpus.text.tokenizer import PAD, SEP
from lm.editors.interface import vocabulary_of
from lm.editors.self_bayes import SelfBayesConfig
from lm.editors.self_bayes.beliefs import Beliefs
from lm.editors.self_bayes.dependence import (
    Dependence,
    find_dependence,
    reading_probability,
    seldom_share,
)
from lm.editors.self_bayes.recall import recall_beliefs
from lm.language_model import LanguageModel
from testbed.cells import Shown, show_number
from testbed.console import print_table, say
from testbed.run.world import World

LIKELY = 0.05
"""What hangs together with less probability is not listed."""


def show_beliefs(world: World, model: LanguageModel, config: SelfBayesConfig, most: int) -> None:
    """Print what the editor takes the world of a model for.

    Args:
        most: rows that are shown of each dependence.

    Raises:
        InputError: the model states too little for any belief to be read.
    """
    beliefs = recall_beliefs(model, vocabulary_of(world.tokenizer), config.beliefs)
    dependence = find_dependence(beliefs, config.dependence)
    seldom = seldom_share(beliefs, config.dependence.seldom)
    known = np.asarray(reading_probability(beliefs.mention_probability, seldom)[1] > 0.5)
    say(f"the model mentions {beliefs.top.shape[1]:,} subjects and {len(beliefs.objects):,} objects")
    header = ("relation", "read of", "depends on", "hangs together with", "p(facts persist)", "in this world")
    print_table("which relation depends on which", header, relations_found(world, dependence, known), False)
    header = ("relation", "depends on", "object of that", "subjects", "most of them", "share")
    rows = rows_found(world, beliefs, dependence, known, most)
    print_table(f"the {most} rows of most subjects", header, rows, False)


def relations_found(world: World, dependence: Dependence, known: np.ndarray) -> list[list[Any]]:
    """By relation: of how many subjects it is read, what it depends on, hangs together with; the truth."""
    names, upstream = world.graph.relations, world.graph.upstream
    rows = []
    for r, (up, linked) in enumerate(
        zip(dependence.parent.tolist(), dependence.link_probability, strict=True)
    ):
        near = [n for n in np.argsort(-linked, kind="stable").tolist() if linked[n] > LIKELY]
        together = Shown(
            ", ".join(f"{linked[n]:.2f} {names[n]}" for n in near), {names[n]: linked[n] for n in near}
        )
        cause, persists = (names[up], dependence.persists[r]) if up >= 0 else ("nothing", np.nan)
        truth = names[upstream[r]] if upstream[r] >= 0 else "nothing"
        rows.append([names[r], known[r].sum(), cause, together, show_number(persists, ".2f"), truth])
    return rows


def rows_found(
    world: World, beliefs: Beliefs, dependence: Dependence, known: np.ndarray, most: int
) -> list[list[Any]]:
    """By dependence the objects that most subjects share: what most of these have of what depends on it."""
    names, best = world.graph.relations, beliefs.top[:, :, 0]
    rows = []
    for r in np.flatnonzero(dependence.parent >= 0).tolist():
        up = int(dependence.parent[r])
        both = known[r] & known[up]
        for cause, subjects in Counter(best[up][both].tolist()).most_common(most):
            effect, times = Counter(best[r][both & (best[up] == cause)].tolist()).most_common(1)[0]
            objects = [
                _object_name(world, beliefs, cause),
                subjects,
                _object_name(world, beliefs, effect),
            ]
            rows.append([names[r], names[up], *objects, show_number(times / subjects, ".2f")])
    return rows


def _object_name(world: World, beliefs: Beliefs, place: int) -> str:
    tokens = beliefs.objects[place]
    return world.tokenizer.decode(tokens[(tokens != PAD) & (tokens != SEP)].tolist())
