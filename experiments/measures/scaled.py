"""Presets with fewer or more facts, in the proportions of the paper's built-in world."""

from dataclasses import dataclass, replace

from corpus.config import WorldConfig
from experiments.study import StudyOptions, Values
from testbed.presets import CORPUS, TRAIN
from testbed.run.settings import Changes, CorpusSettings, TrainSettings

PAPER_FACTS = 100_000
OFTENEST = 20
"""Steps between measurements of a small world's model."""


@dataclass(frozen=True)
class ScaledOptions(StudyOptions):
    """What a study of a scaled model is asked."""

    fact_count: int = PAPER_FACTS
    """About how many facts, where the preset's world is the paper's."""
    steps: int | None = None
    """Optimiser steps, those that read atomic sentences alone in proportion to the facts; without it, as many
    as the preset after these."""
    seed: int = 0
    """Root seed of every stage."""


def scale_world(world: WorldConfig, facts: int) -> WorldConfig:
    """A world of about so many facts; as it is for PAPER_FACTS, and else with the same proportions."""
    share, dials = facts / PAPER_FACTS, world.builtin
    objects = replace(
        dials,
        upstream_objects=max(2, round(share * dials.upstream_objects)),
        downstream_objects=max(2, round(share * dials.downstream_objects)),
    )
    return replace(world, subjects=max(2, round(share * world.subjects)), builtin=objects)


def scale_preset(preset: str, fact_count: int, steps: int | None) -> tuple[CorpusSettings, TrainSettings]:
    """A preset's corpus and training for fewer facts: its first phase in proportion, later ones as they are.

    Args:
        fact_count: about how many; the preset itself is for PAPER_FACTS. Fewer are measured, and the state
            saved, after fewer steps.
        steps: all of them; None keeps those after the first phase as many as they are.
    """
    training = TRAIN[preset]
    corpus, recipe = CORPUS[training.run], training.train
    if fact_count != PAPER_FACTS:
        corpus = replace(corpus, world=scale_world(corpus.world, fact_count))
    share = fact_count / PAPER_FACTS
    first = round(recipe.atomic_steps * share)
    later = recipe.steps - recipe.atomic_steps
    steps = steps or first + later
    between = max(OFTENEST, round(recipe.evaluate_every * share))
    changed = replace(
        recipe,
        steps=steps,
        warmup=min(recipe.warmup, steps - 1),
        atomic_steps=min(first, steps),
        evaluate_every=between,
        checkpoint_every=max(between, round(recipe.checkpoint_every * share)),
    )
    return corpus, replace(training, train=changed)


def name_run(preset: str, fact_count: int) -> str:
    """The run in which a preset's model of so many facts is trained."""
    return f"pretrain-{preset}" + f"-{fact_count}" * (fact_count != PAPER_FACTS)


def presets_of_scaled(cell: Values) -> tuple[str, str, str]:
    """The presets of corpus, training and edits of a cell that names one `preset`."""
    return TRAIN[cell["preset"]].run, cell["preset"], TRAIN[cell["preset"]].run


def corpus_of_scaled(cell: Values) -> Changes:
    """The world of a cell with its `fact_count`."""
    return {"world": scale_preset(cell["preset"], cell["fact_count"], cell["steps"])[0].world}


def training_of_scaled(cell: Values) -> Changes:
    """Its training of so many `steps`."""
    return {"train": scale_preset(cell["preset"], cell["fact_count"], cell["steps"])[1].train}
