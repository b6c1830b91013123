"""The paper's built-in world with fewer or more facts, in the same proportions."""

from dataclasses import replace

from corpus.config import WorldConfig

PAPER_FACTS = 100_000


def scale_world(world: WorldConfig, facts: int) -> WorldConfig:
    """A world of about so many facts; as it is for PAPER_FACTS, and else with the same proportions."""
    share, dials = facts / PAPER_FACTS, world.builtin
    objects = replace(
        dials,
        upstream_objects=max(2, round(share * dials.upstream_objects)),
        downstream_objects=max(2, round(share * dials.downstream_objects)),
    )
    return replace(world, subjects=max(2, round(share * world.subjects)), builtin=objects)
