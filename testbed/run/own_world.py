"""Worlds of other kinds and their agents by name: this project's, and a user's as my_module:MyWorld."""

import inspect
from importlib import import_module
from typing import NamedTuple, TypeVar

from bayes.derived import DerivedAgent
from corpus.config import KINDS
from corpus.errors import InputError
from corpus.worlds.own import OwnWorld
from testbed.own import find_own

Kind = TypeVar("Kind")


class Origin(NamedTuple):
    """What makes a world of a kind of its own again.

    Attributes:
        source: a kind of this project, or my_module:MyWorld.
    """

    source: str
    seed: int
    subjects: int


def make_own_world(origin: Origin) -> OwnWorld:
    """The world of a kind, from its seed.

    Raises:
        InputError: no such module or class, or one that makes no world.
    """
    kind = find_world_class(origin.source)
    try:
        inspect.signature(kind).bind(origin.seed, origin.subjects)
    except TypeError as error:
        raise InputError(
            f"world {origin.source!r}: {kind.__name__} should be made of (seed, subjects); {error}"
        ) from None
    world = kind(origin.seed, origin.subjects)
    for name in ("facts", "candidates"):
        if not getattr(world, name, None):
            raise InputError(f"world {origin.source!r}: {kind.__name__} sets no {name}; set it in __init__")
    return world


def find_world_class(source: str) -> type[OwnWorld]:
    """The class that `--world.source` names: a kind of this project stands in a module of its name."""
    return _find_class(f"corpus.worlds.{source}" if source in KINDS else source, "world", OwnWorld)


def find_agent_class(name: str, source: str = "") -> type[DerivedAgent]:
    """The class that judges edits in a world of a kind of its own; exact is that of the kind `source`.

    Raises:
        InputError: no such class.
    """
    if name == "exact" and source not in KINDS:
        raise InputError(f"the testbed has no agent of {source!r}; say --agent my_module:MyAgent")
    return _find_class(f"bayes.{source}" if name == "exact" else name, "agent", DerivedAgent)


def _find_class(name: str, what: str, base: type[Kind]) -> type[Kind]:
    """A class named as module:Class, or the only one of its base that a module of this project defines."""
    if ":" in name:
        found = find_own(name, what)
        if not (inspect.isclass(found) and issubclass(found, base)):
            raise InputError(f"{what} {name!r}: it should be a subclass of {base.__module__}.{base.__name__}")
        return found
    classes = vars(import_module(name)).values()
    return next(c for c in classes if inspect.isclass(c) and issubclass(c, base) and c.__module__ == name)
