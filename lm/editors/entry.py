"""What is known of an editor before any of its code runs, so that --help needs no JAX.

Each folder of `lm.editors` is a family of editors: its `__init__` holds configurations and EDITORS, a tuple
of entries; its other modules hold the code. An entry is found by standing there, and in no list.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Layers = Literal["all", "early", "late"]
"""early and late are the first and the last third of the layers, at least one."""
TENFOLD = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Factors on a learning rate."""
Choices = tuple[float, ...] | tuple[str, ...] | tuple[bool, ...]
"""Factors on a number, or choices of what is none."""


@dataclass(frozen=True)
class Entry:
    """One editor by name.

    Attributes:
        name: on the command line.
        about: what it changes, in one line.
        build: "module:function" that makes the editor from its configuration, or from nothing where there
            is none; empty where the configuration is the editor.
        config: its hyper-parameters as published; None for none.
        small: what they become for models of two layers, a hundred times smaller; None for the same.
        search: what `testbed.tune` tries: factors on numbers, from the least to the greatest named, and the
            choices themselves of what is not a number.
        options: the prefix of its options on the command line; by default its name.
        version: of its code, raised when the same settings come to another edit.
    """

    name: str
    about: str
    build: str
    config: Any = None
    small: Any = None
    search: Mapping[str, Choices] = field(default_factory=dict)
    options: str = ""
    version: int = 1

    def __post_init__(self) -> None:
        for name, factors in self.search.items():
            value = getattr(self.config, name, None)
            if isinstance(value, str | bool):
                if value not in factors:
                    raise ValueError(f"{name} is {value!r}, which is not among the choices {factors}")
            elif not isinstance(value, int | float):
                raise ValueError(f"{self.name} has nothing called {name} to search")
            elif not all(isinstance(factor, int | float) and factor > 0 for factor in factors):
                raise ValueError(f"factors on {name} must be positive numbers; they are {factors}")
        if not self.options:
            # The documented way to derive a field of a frozen dataclass.
            object.__setattr__(self, "options", self.name)


def require_not_negative(numbers: dict[str, float]) -> None:
    """Refuse hyper-parameters that are negative or not finite."""
    for name, value in numbers.items():
        if not 0 <= value < math.inf:
            raise ValueError(f"{name} must be a number that is not negative; it is {value}")


def require_positive(numbers: dict[str, float], counts: dict[str, int] | None = None) -> None:
    """Refuse hyper-parameters that are not positive and finite, or less than one step."""
    for name, value in numbers.items():
        if not 0 < value < math.inf:
            raise ValueError(f"{name} must be a positive number; it is {value}")
    for name, value in (counts or {}).items():
        if value < 1:
            raise ValueError(f"{name} must be positive; it is {value}")
