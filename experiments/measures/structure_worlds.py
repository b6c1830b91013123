"""Worlds of many structures, each unlike a base in one factor: levels, causes, popularity, names, labels."""

from dataclasses import replace
from typing import Any, Literal

from experiments.measures.revision_worlds import RevisionWorld

BASE = {
    "published": RevisionWorld("depth 3", "published", 0, subjects=200, steps=260),
    "fact": RevisionWorld("depth 3", "fact", 0, subjects=200, steps=260),
    "sentence": RevisionWorld("causes 1", "sentence", 0, subjects=200, steps=260),
}
"""Where statements are draws, nothing depends on what depends on something."""
SPELT = {"subjects": 100, "uppers": 12, "downs": 8, "steps": 200}
FACTORS: dict[str, dict[str, Any]] = {
    "base": {},
    "two levels": {"shape": "depth 2"},
    "four levels": {"shape": "depth 4"},
    "five levels": {"shape": "depth 5"},
    "six levels": {"shape": "depth 6"},
    "two causes": {"shape": "causes 2"},
    "three causes": {"shape": "causes 3"},
    "four causes": {"shape": "causes 4"},
    "Zipf 0": {"zipf": 0.0},
    "Zipf 2": {"zipf": 2.0},
    "two tokens": {"words": 2} | SPELT,
    "three tokens": {"words": 3} | SPELT,
    "four tokens": {"words": 4} | SPELT,
    "five relations": {"shape": "relations 5", "subjects": 280},
    "thirty relations": {"shape": "relations 30", "subjects": 80, "uppers": 10, "downs": 6, "steps": 400},
    "no labels": {"sentences": ("atomic",)},
    "everything": {"shape": "everything", "zipf": 1.5, "words": 3} | SPELT | {"steps": 300},
}
"""Name -> what differs from the base."""
LABELS: dict[str, dict[str, Any]] = {
    "labels of truth": {"sentences": ("atomic", "truth")},
    "labels of and, or": {"sentences": ("atomic", "and", "or")},
}
"""The same, of published worlds only."""
STRUCTURES: tuple[tuple[str, str], ...] = (
    *(("published", name) for name in FACTORS),
    *(("fact", name) for name in ("base", "five levels", "three causes", "Zipf 2", "three tokens")),
    *(("sentence", name) for name in ("base", "three causes", "Zipf 0", "Zipf 2", "three tokens")),
    ("fact", "everything"),
    *(("published", name) for name in LABELS),
)
"""Kind of world, and factor. A structure's seed is its place, so new ones come last."""
FIRST_SEED = {"development": 1001, "report": 3001}
"""Settings may be chosen on the first list only."""
STRUCTURE_NAMES = tuple(f"{kind}, {factor}" for kind, factor in STRUCTURES)
"""As in tables."""


def structure_world(kind: str, factor: str, seed: int) -> RevisionWorld:
    """A world of one structure; its own seed is `seed` and its place among all."""
    place = STRUCTURES.index((kind, factor))
    return replace(BASE[kind], seed=seed + place, **(FACTORS | LABELS)[factor])


def find_structure(name: str) -> tuple[str, str]:
    """Kind of world and factor, from a name in tables."""
    kind, _, factor = name.partition(", ")
    return kind, factor


def draw_worlds(name: str, among: Literal["development", "report"], draws: int) -> list[RevisionWorld]:
    """So many worlds of a structure, by its name in tables; no two structures share a seed."""
    seeds = [FIRST_SEED[among] + draw * len(STRUCTURES) for draw in range(draws)]
    return [structure_world(*find_structure(name), seed) for seed in seeds]
