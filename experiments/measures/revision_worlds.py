"""Worlds on which an editor that revises beliefs is made, and others on which it is judged.

Nothing may be chosen on a world of REPORT: settings and thresholds come from DEVELOPMENT alone. Both lists
vary what such an editor could lean on by accident: the kind of corpus, whether facts persist, how many
relations there are and how they hang together, how strongly, how many subjects share an object, and the
tokenizer. REAL are facts of Wikidata, DEEP worlds like those of REPORT for a model of twelve layers, and
BYTE_PAIRS for one that reads names in pieces.
"""

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Literal

import numpy as np

from corpus.config import (
    SENTENCES,
    BuiltinWorld,
    ExactConfig,
    SentenceName,
    TokenizerConfig,
    WorldConfig,
)
from corpus.seeds import generator
from experiments.studies.table4 import PAIRS
from experiments.study import Changes, change_settings
from lm.config import ModelConfig
from testbed.commands.corpus import build_corpus
from testbed.commands.train import train
from testbed.presets import CORPUS, TRAIN
from testbed.run.runs import Run
from testbed.run.settings import AgentName

Cause = int | tuple[int, ...]
SHAPES: dict[str, tuple[Cause, ...]] = {
    "forest": (-1, 0, 0, -1, 3, 4, -1, 6, -1),
    "forks": (-1, 0, 0, -1, 3, -1, 5, 5, 5, -1),
    "star": (-1, 0, 0, 0, 0, 0, 0),
    "chains": (-1, 0, 1, -1, 3, 4),
}
"""Which relation each one depends on. forest: a fork, a chain, a pair and one alone; forks: of two and of
three, a pair and one alone; star: a cause with six effects, as of a category. Where statements are fresh
draws, nothing may depend on what depends on something itself, and six effects leave no cause open to a
request."""
SHAPES["everything"] = (-1, 0, 1, 2, 3, -1, -1, (0, 5, 6), -1, 8, 8)
SHAPES |= {f"depth {n}": (*range(-1, n - 1), -1, n, n, -1) for n in range(2, 7)}
SHAPES |= {f"causes {n}": (*[-1] * n, tuple(range(n)), 0, -1, n + 2, -1) for n in range(1, 5)}
SHAPES |= {
    f"relations {5 * n}": tuple(cause for i in range(0, 5 * n, 5) for cause in (-1, i, i, -1, i + 3))
    for n in range(1, 7)
}
"""everything: a chain of five levels, an effect of three causes, and a fork. Then chains of so many levels
with a fork; effects of so many causes, of which each subject follows one, the first most often; so many
relations, in forks of two and in pairs. The graph says of an effect of several causes that it depends on the
first, since it knows one cause of each relation, and so do the agents."""


@dataclass(frozen=True)
class RevisionWorld:
    """One world, its corpus and its model.

    Attributes:
        shape: of SHAPES; the built-in five pairs; or `table4`'s of real facts, at most so many subjects.
        kind: of corpus; "sentence" and "fact" are kind exact, by what persists.
        uppers, downs: objects of a cause and of what depends on one.
        dependence: probability that a fact follows its cause's object.
        seed: of world, corpus and model.
        zipf: exponent of the popularity of objects.
        words: of each name, of one token each, out of forty; 0 gives every name a token of its own.
        sentences: kinds of sentence that are written (published).
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
    zipf: float = 1.0
    words: int = 0
    sentences: tuple[SentenceName, ...] = SENTENCES

    @property
    def name(self) -> str:
        """Of its run."""
        how = ("-bpe" if self.several_tokens else "") + ("-deep" if self.layers == 12 else "")
        return f"revision-{self.shape}-{self.kind}-{self.subjects}{how}-{self.seed}".replace(" ", "")

    @property
    def parents(self) -> tuple[int, ...] | None:
        """Which relation each depends on, as the graph says; None for built-in worlds and real facts."""
        if self.shape not in SHAPES:
            return None
        return tuple(cause if isinstance(cause, int) else cause[0] for cause in SHAPES[self.shape])


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
    rng = generator(world.seed, "table")
    causes = [
        () if cause == -1 else (cause,) if isinstance(cause, int) else cause for cause in SHAPES[world.shape]
    ]
    above = {up for several in causes for up in several}
    objects = [world.uppers if r in above else world.downs for r in range(len(causes))]
    popular = [rng.permutation(n) for n in objects]
    shares = [(1.0 + np.arange(n)) ** -world.zipf for n in objects]
    follows = [rng.integers(0, n, size=max(objects)) for n in objects]
    # Further causes have tables of their own.
    tables = {(r, up): rng.permutation(follows[r]) for r, ups in enumerate(causes) for up in ups[1:]}
    rows = []
    for s in range(world.subjects):
        has: dict[int, int] = {}
        for r, ups in enumerate(causes):
            if ups and rng.random() < world.dependence:
                up = ups[0] if len(ups) == 1 else int(rng.choice(ups, p=_shares_of_causes(len(ups))))
                has[r] = int(tables.get((r, up), follows[r])[has[up]])
            else:
                has[r] = int(popular[r][rng.choice(objects[r], p=shares[r] / shares[r].sum())])
        lacks = int(rng.integers(0, len(causes))) if rng.random() < 0.1 else -1
        rows += [(s, r, o) for r, o in has.items() if r != lacks]
    subjects = [f"subject {s}" for s in range(world.subjects)]
    names = [[f"object {r} {o}" for o in range(n)] for r, n in enumerate(objects)]
    if world.words:
        spelling = iter(spell_names(world.words, world.subjects + sum(objects), rng))
        subjects = [next(spelling) for _ in subjects]
        names = [[next(spelling) for _ in of] for of in names]
    lines = [f"{subjects[s]}\trelation {r}\t{names[r][o]}" for s, r, o in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _shares_of_causes(count: int) -> np.ndarray:
    """float64[count]: how often each of several causes is the one that is followed."""
    shares = 1 / (1.0 + np.arange(count))
    return shares / shares.sum()


def spell_names(words: int, count: int, rng: np.random.Generator) -> list[str]:
    """So many different names of so many words, out of forty words; names of one word share none."""
    pool = ["".join(letters) for letters in product("bdfgklmnprst", "aeiou", "lnrs", "aeiou")]
    if words > 1:
        pool = [str(word) for word in rng.choice(pool, 40, replace=False)]
    places = rng.choice(len(pool) ** words, count, replace=False)
    return [" ".join(pool[place // len(pool) ** k % len(pool)] for k in range(words)) for place in places]


def corpus_of_world(world: RevisionWorld, runs: Path, facts: Path | None = None) -> Changes:
    """How its corpus differs from the demo's; a table of facts is written where it is missing.

    Args:
        facts: a folder in Wikidata5m's layout, of real facts.
    """
    in_pieces = world.several_tokens or world.words
    pieces = TokenizerConfig(kind="bpe", vocabulary=500 if world.several_tokens else 1200)
    changes = {
        "world": _world_config(world, runs, facts),
        "documents.sentences": world.sentences,
        "tokenizer": pieces if in_pieces else TokenizerConfig(),
    }
    exact = {"kind": "exact", "exact": ExactConfig(persistence=world.kind, statements=16)}  # type: ignore[arg-type]
    return changes if world.kind == "published" else changes | exact


def training_of_world(world: RevisionWorld) -> Changes:
    """How its model differs from the preset's; twelve layers are half as wide."""
    row = 192 if world.shape == "real" else 320 if world.several_tokens or world.words else 160
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


def prepare_run(world: RevisionWorld, runs: Path) -> Run:
    """The world's corpus and trained model; made where they are missing."""
    run = build_run(world, runs)
    place = {"run": run.name, "runs": runs, "seed": world.seed}
    train(change_settings(TRAIN[presets_of_world(world)[1]], place | training_of_world(world)))
    return run


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
