"""What a world is made from. Plain dataclasses, so that --help needs neither NumPy nor JAX."""

import math
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class BuiltinWorld:
    """Dials of the built-in world."""

    upstream_objects: int = 24
    """Objects of each upstream relation. Fewer objects mean more support for each."""
    downstream_objects: int = 12
    """Objects of each downstream relation."""
    zipf: float = 1.0
    """Exponent of the objects' popularity; 0 is uniform."""
    dependence: float = 0.8
    """Probability that a downstream fact follows from its upstream object."""
    both: float = 0.9
    """Probability that a subject has both members of a pair, not only one."""
    groups: int = 2
    """Latent groups of subjects."""
    group_strength: float = 0.0
    """Probability that an upstream object is drawn by the group's own popularity ranking."""

    def __post_init__(self) -> None:
        if self.upstream_objects < 2 or self.downstream_objects < 2:
            raise ValueError("upstream_objects and downstream_objects must be at least 2")
        if self.groups < 1:
            raise ValueError("groups must be at least 1")
        if not 0 <= self.zipf < math.inf:
            raise ValueError("zipf must be a number that is not negative")
        for name in ("dependence", "both", "group_strength"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is a probability; {getattr(self, name)} is not in [0, 1]")


@dataclass(frozen=True)
class WorldConfig:
    """Where the facts come from and which of them are kept."""

    source: Literal["builtin", "wikidata", "tsv"] = "builtin"
    """builtin: generated; wikidata: a folder in Wikidata5m's layout; tsv: a file of labels."""
    path: str = ""
    """Folder (wikidata) or file (tsv)."""
    subjects: int = 240
    """Number of subjects; for files, at most this many, drawn at random."""
    pairs: tuple[str, ...] = ()
    """Dependencies as upstream:downstream, such as P69:P106; by default chosen (wikidata) or none (tsv)."""
    relations: tuple[str, ...] = ()
    """Further relations to keep that are in no pair (wikidata)."""
    max_lines: int = 2_000_000
    """Triples read from the start of the file (wikidata)."""
    relation_count: int = 10
    """Relations to choose where no pairs are given (wikidata)."""
    min_pair_subjects: int = 1000
    """Subjects that two relations must share to be chosen (wikidata)."""
    builtin: BuiltinWorld = field(default_factory=BuiltinWorld)

    def __post_init__(self) -> None:
        if self.source != "builtin" and not self.path:
            raise ValueError(f"source {self.source!r} needs a path")
        if self.subjects < 2:
            raise ValueError("subjects must be at least 2")
        if self.max_lines < 1 or self.relation_count < 2 or self.min_pair_subjects < 1:
            raise ValueError("max_lines and min_pair_subjects must be positive, relation_count at least 2")


@dataclass(frozen=True)
class TokenizerConfig:
    """How sentences become tokens."""

    kind: Literal["entity", "bpe"] = "entity"
    """entity: one token per entity, relation and word; bpe: byte-pair encoding trained on the corpus."""
    vocabulary: int = 32_000
    """Largest number of entries of the BPE."""

    def __post_init__(self) -> None:
        if self.vocabulary < 64:
            raise ValueError("vocabulary must be at least 64")
