"""The settings of Seesaw-CF's examination; importing this loads no NumPy and no JAX."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SeesawConfig:
    """Whom and what is asked, and how much is written."""

    others: int = 24
    """Other people of each kind who are asked: who have the new object, who have the old one, who have
    neither. The paper asks up to 200 of the first kind alone."""
    phrasings: int = 2
    """Ways in which each of them is asked, drawn from all there are: the relation's name and its synonyms,
    ten of work and two of language. The paper asks everybody in all of them (10)."""
    samples: int = 0
    """Texts written after every opening, before and after the edit; the paper has 5. None by default, as
    these take longer than all else."""
    longest: int = 100
    """Most tokens of a text."""
    controls: bool = False
    """Tell every editor the same about somebody else too, which shows what is merely an edit's noise; takes
    twice as long."""

    def __post_init__(self) -> None:
        for name, least in (("others", 1), ("phrasings", 1), ("samples", 0), ("longest", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}; it is {getattr(self, name)}")
