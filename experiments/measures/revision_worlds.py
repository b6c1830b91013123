"""Worlds on which an editor that revises beliefs is made, and others on which it is judged.

Nothing may be chosen on a world of REPORT: settings and thresholds come from DEVELOPMENT alone. Both lists
vary what such an editor could lean on by accident: the kind of corpus, whether facts persist, how many
relations there are and how they hang together, how strongly, how many subjects share an object, and the
tokenizer. REAL are facts of Wikidata, DEEP worlds like those of REPORT for a model of twelve layers, and
BYTE_PAIRS for one that reads names in pieces.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from corpus.config import (
    BuiltinWorld,
    ExactConfig,
    TokenizerConfig,
    WorldConfig,
)
from corpus.seeds import generator
from experiments.studies.table4 import PAIRS
from experiments.study import Changes, change_settings
from lm.config import ModelConfig
from testbed.commands.corpus import build_corpus
from testbed.presets import CORPUS
from testbed.run.runs import Run
from testbed.run.settings import AgentName

SHAPES = {
    "forest": (-1, 0, 0, -1, 3, 4, -1, 6, -1),
    "forks": (-1, 0, 0, -1, 3, -1, 5, 5, 5, -1),
    "star": (-1, 0, 0, 0, 0, 0, 0),
    "chains": (-1, 0, 1, -1, 3, 4),
}
"""Which relation each one depends on. forest: a fork, a chain, a pair and one alone; forks: of two and of
three, a pair and one alone; star: a cause with six effects, as of a category. Where statements are fresh
draws, nothing may depend on what depends on something itself, and six effects leave no cause open to a
request."""


@dataclass(frozen=True)
class RevisionWorld:
    """One world, its corpus and its model.

    Attributes:
        shape: of SHAPES; the built-in five pairs; or `table4`'s of real facts, at most so many subjects.
        kind: of corpus; "sentence" and "fact" are kind exact, by what persists.
        uppers, downs: objects of a cause and of what depends on one.
        dependence: probability that a fact follows its cause's object.
        seed: of world, corpus and model.
        layers: of the model; twelve are half as wide.
    """

    shape: str
    kind: Literal["published", "fact", "sentence"]
    seed: int
    subjects: int = 300
    uppers: int = 24
    downs: int = 12
    dependence: float = 0.8
    several_tokens: bool = False
    steps: int = 400
    layers: Literal[2, 12] = 2

    @property
    def name(self) -> str:
        """Of its run."""
        how = ("-bpe" if self.several_tokens else "") + ("-deep" if self.layers == 12 else "")
        return f"revision-{self.shape}-{self.kind}-{self.subjects}{how}-{self.seed}".replace(" ", "")

    @property
    def parents(self) -> tuple[int, ...] | None:
        """Which relation each depends on, as the graph says; None for built-in worlds and real facts."""
        return SHAPES.get(self.shape)


DEVELOPMENT = (
    RevisionWorld("builtin", "published", 101),
    RevisionWorld("builtin", "published", 102, subjects=480, uppers=48, downs=24, steps=600),
    RevisionWorld("forest", "published", 103),
    RevisionWorld("forest", "published", 104, subjects=500, dependence=0.6, steps=500),
    RevisionWorld("chains", "published", 105, dependence=0.9),
    RevisionWorld("star", "published", 106, subjects=96, uppers=12, dependence=0.95),
    RevisionWorld("forest", "fact", 107),
    RevisionWorld("builtin", "fact", 108, subjects=600, uppers=60, downs=24, steps=700),
    RevisionWorld("star", "fact", 109, subjects=96, uppers=12, dependence=0.95),
    RevisionWorld("forks", "sentence", 110),
    RevisionWorld("builtin", "sentence", 111, subjects=600, uppers=60, downs=24, steps=700),
    RevisionWorld("builtin", "published", 112, several_tokens=True, steps=600),
)
REPORT = (
    RevisionWorld("builtin", "published", 201),
    RevisionWorld("builtin", "published", 202, subjects=360, uppers=30, downs=15),
    RevisionWorld("forest", "published", 203, subjects=400, steps=450),
    RevisionWorld("chains", "published", 204, dependence=0.7),
    RevisionWorld("star", "published", 205, subjects=120, uppers=15, dependence=0.9),
    RevisionWorld("forest", "fact", 206, subjects=400, steps=450),
    RevisionWorld("builtin", "fact", 207, subjects=500, uppers=50, downs=20, steps=600),
    RevisionWorld("chains", "fact", 208),
    RevisionWorld("star", "fact", 209, subjects=120, uppers=15, dependence=0.9),
    RevisionWorld("builtin", "fact", 210, several_tokens=True, steps=600),
    RevisionWorld("forks", "sentence", 211, subjects=400, steps=450),
    RevisionWorld("builtin", "sentence", 212, subjects=500, uppers=50, downs=20, steps=600),
    RevisionWorld("forks", "sentence", 213, dependence=0.6),
    RevisionWorld("forks", "sentence", 214, subjects=240, uppers=16, downs=8, dependence=0.9),
    RevisionWorld("builtin", "sentence", 215, several_tokens=True, steps=600),
)
REAL = (
    RevisionWorld("real", "published", 301, subjects=2000, steps=1400),
    RevisionWorld("real", "fact", 302, subjects=2000, steps=1400),
    RevisionWorld("real", "sentence", 303, subjects=2000, steps=1400),
)
DEEP = (
    RevisionWorld("builtin", "published", 401, steps=900, layers=12),
    RevisionWorld("forest", "fact", 402, steps=900, layers=12),
    RevisionWorld("forks", "sentence", 403, steps=900, layers=12),
    RevisionWorld("builtin", "published", 404, steps=900, layers=12),
    RevisionWorld("forest", "published", 405, steps=900, layers=12),
)
BYTE_PAIRS = tuple(
    RevisionWorld("builtin", "published", seed, several_tokens=True, steps=600) for seed in range(501, 504)
)
LISTS = {
    "development": DEVELOPMENT,
    "report": REPORT,
    "real": REAL,
    "deep": DEEP,
    "byte-pairs": BYTE_PAIRS,
}


def write_table(world: RevisionWorld, path: Path) -> None:
    """A table of facts of one of SHAPES: every subject has a fact of each relation but for one in ten."""
    rng, parents = generator(world.seed, "table"), SHAPES[world.shape]
    objects = [world.uppers if r in parents else world.downs for r in range(len(parents))]
    popular = [rng.permutation(n) for n in objects]
    shares = [(1.0 + np.arange(n)) ** -1.0 for n in objects]
    follows = [rng.integers(0, n, size=max(objects)) for n in objects]
    lines = []
    for s in range(world.subjects):
        has: list[int] = []
        for r, up in enumerate(parents):
            if up >= 0 and rng.random() < world.dependence:
                has.append(int(follows[r][has[up]]))
            else:
                has.append(int(popular[r][rng.choice(objects[r], p=shares[r] / shares[r].sum())]))
        lacks = int(rng.integers(0, len(parents))) if rng.random() < 0.1 else -1
        lines += [f"subject {s}\trelation {r}\tobject {r} {o}\n" for r, o in enumerate(has) if r != lacks]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines), encoding="utf-8")


def corpus_of_world(world: RevisionWorld, runs: Path, facts: Path | None = None) -> Changes:
    """How its corpus differs from the demo's; a table of facts is written where it is missing.

    Args:
        facts: a folder in Wikidata5m's layout, of real facts.
    """
    changes = {
        "world": _world_config(world, runs, facts),
        "tokenizer": TokenizerConfig("bpe", 500) if world.several_tokens else TokenizerConfig(),
    }
    exact = {"kind": "exact", "exact": ExactConfig(persistence=world.kind, statements=16)}  # type: ignore[arg-type]
    return changes if world.kind == "published" else changes | exact


def training_of_world(world: RevisionWorld) -> Changes:
    """How its model differs from the preset's; twelve layers are half as wide."""
    row = 192 if world.shape == "real" else 320 if world.several_tokens else 160
    deep = ModelConfig(hidden=64, mlp=128, layers=12, heads=2, kv_heads=2, head_width=32)
    changes = {"train.steps": world.steps, "train.row-length": row}
    return changes if world.layers == 2 else changes | {"model": deep}


def presets_of_world(world: RevisionWorld) -> tuple[str, str, str]:
    """Of corpus, training and edits."""
    return "tiny", "laptop" if world.shape == "real" else "tiny", "tiny"


def agent_of(world: RevisionWorld) -> AgentName:
    """Who judges edits there."""
    return "paper" if world.kind == "published" else "exact"


def build_run(world: RevisionWorld, runs: Path, facts: Path | None = None) -> Run:
    """The world and its corpus; made where they are missing. Arguments as of `corpus_of_world`."""
    place = {"run": world.name, "runs": runs, "seed": world.seed}
    build_corpus(change_settings(CORPUS["tiny"], place | corpus_of_world(world, runs, facts)))
    return Run(runs, world.name)


def _world_config(world: RevisionWorld, runs: Path, facts: Path | None) -> WorldConfig:
    if world.shape == "real":
        return WorldConfig(source="wikidata", path=str(facts or ""), subjects=world.subjects, pairs=PAIRS)
    if world.parents is None:
        dials = BuiltinWorld(
            upstream_objects=world.uppers, downstream_objects=world.downs, dependence=world.dependence
        )
        return WorldConfig(subjects=world.subjects, builtin=dials)
    path = runs / "tables" / f"{world.name}.tsv"
    if not path.exists():
        write_table(world, path)
    return WorldConfig(
        source="tsv",
        path=str(path),
        subjects=world.subjects,
        pairs=tuple(f"relation {up}:relation {r}" for r, up in enumerate(world.parents) if up >= 0),
        relations=tuple(
            f"relation {r}" for r, up in enumerate(world.parents) if up < 0 and r not in world.parents
        ),
        min_relations=1,
    )
