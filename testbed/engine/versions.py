"""What a result depends on: settings as data, and the versions of the code that made it.

A version is a whole number that stands beside the code it is of; whoever changes a number raises it, and
tests/test_versions.py fails until then. Where a module lies or what it is called plays no part.

corpus.VERSION                  worlds and their text, as they are drawn and read
lm.VERSION                      the model: how it is trained, and what it answers
bayes.VERSIONS                  each agent
testbed.engine.VERSION          how edits are made and questions are asked, and what is written down
Evaluation.version              the cases of an evaluation, in its class
SETS                            what cases ask besides in worlds whose relations are sets
Entry.version                   an editor, in its entry
MetricDefinition.version        a metric

What is a user's own is known by its source instead: that of its module, and of those of the user's modules
that it imports, which are read and never run. Comments, docstrings and layout do not count.
"""

import ast
import importlib
import os
import pkgutil
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

import bayes
import corpus
import lm
from corpus.errors import InputError
from corpus.files import hash_content, hash_file
from testbed.engine import VERSION as ASKING
from testbed.engine.catalogue import FAMILIES, editor_entries
from testbed.own import ISOLATED, OURS
from testbed.run.runs import Run, _recorded_stages
from testbed.run.settings import GOLD, as_plain_data

if TYPE_CHECKING:
    from testbed.engine.methods import Method

STAGES = {"corpus": corpus.VERSION, "train": lm.VERSION}
"""What makes the parts of a run."""
SETS = 1
PARTS = {"corpus": "the corpus", "train": "the model"}
Version = int | str
"""A whole number, or the hash of a user's own source."""


def versions_of_cases(cases: Version, agent: str) -> dict[str, Version]:
    """The versions that all edits of the same cases depend on.

    Args:
        cases: see `testbed.evaluations.catalogue.version_of_cases`.
        agent: its name; a user's own is known by its source.
    """
    if agent.startswith(GOLD):
        version: Version = hash_file(Path(agent.removeprefix(GOLD)))
        return {"cases": cases, "agent": version, "asking": ASKING, "model": lm.VERSION}
    is_own = ":" in agent and find_source(module_of(agent)) is not None
    version = hash_source(module_of(agent)) if is_own else bayes.VERSIONS.get(agent, bayes.VERSIONS["exact"])
    return {"cases": cases, "agent": version, "asking": ASKING, "model": lm.VERSION}


def identify_method(name: str, method: "Method") -> dict[str, Any]:
    """What a method's results depend on, as JSON holds it.

    Args:
        name: of a built-in editor, or my_module:MyEditor.

    Returns:
        editor: the name; settings: the fields of its class, or of the user's own that it calls, nested,
        without those that are marked `field(metadata={"result": False})`; version: see `version_of_editor`;
        reads: hashes of the data that a user's editor says it reads, if any, by name.

    Raises:
        InputError: such data is not there.
    """
    author = method.author or method.editor
    settings: dict[str, Any] = {} if isinstance(author, FunctionType) else as_plain_data(author)
    identity: dict[str, Any] = {"editor": name, "settings": settings, "version": version_of_editor(name)}
    if names := getattr(author, "reads", ()):
        identity["reads"] = hash_reads(name, names)
    return identity


def version_of_editor(name: str) -> Version:
    """That of a built-in editor's entry, or the hash of a user's source.

    Raises:
        ValueError: there is no such source here.
    """
    entries = editor_entries()
    return entries[name].version if name in entries else hash_source(module_of(name))


def hash_native(name: str) -> str:
    """A hash of the code of an editor of this project, as it stands; empty of any other name."""
    for family in FAMILIES:
        for folder in pkgutil.iter_modules(importlib.import_module(family).__path__):
            package = importlib.import_module(f"{family}.{folder.name}") if folder.ispkg else None
            if package and name in {entry.name for entry in getattr(package, "EDITORS", ())}:
                return hash_content([*map(hash_file, sorted(Path(package.__path__[0]).rglob("*.py")))])
    return ""


def describe_other_versions(run: Run) -> list[str]:
    """Which of corpus and model were made by another version of the code, in words."""
    return [
        f"{what} of {run.folder} was made by another version of this code, which may write or read it "
        f"differently; if that matters, make a new one under another --run"
        for stage, what in PARTS.items()
        if _recorded_stages(run)[0].get(stage, {}).get("version") not in (None, STAGES[stage])
    ]


def path_of(thing: Any) -> str:
    """module:name of a function, or of the class of anything else."""
    kind = thing if isinstance(thing, FunctionType) else type(thing)
    return f"{kind.__module__}:{kind.__qualname__}"


def module_of(name: str) -> str:
    """The module in my_module:MyClass, be it to work in a process of its own."""
    return name.removeprefix(ISOLATED).partition(":")[0]


def hash_reads(name: str, names: Iterable[str]) -> dict[str, str]:
    """Hashes of what an editor reads: files beside its module, and variables of the environment, as $NAME.

    Raises:
        InputError: there is no such file.
    """
    hashes = {}
    for of_user, path in paths_of_reads(module_of(name), names).items():
        if of_user.startswith("$"):
            hashes[of_user] = hash_content(os.environ.get(of_user[1:]))
        elif path.is_file():
            hashes[of_user] = hash_file(path)
        else:
            raise InputError(f"editor {name} says that it reads {of_user}, and {path} is no file")
    return hashes


def paths_of_reads(module: str, names: Iterable[str]) -> dict[str, Path]:
    """Where files lie that an editor of a module says it reads."""
    source = find_source(module)
    return {name: (source.parent if source else Path()).absolute() / name for name in names}


def hash_source(module: str) -> str:
    """A short hash of what a user's module says, and what it imports of the user's.

    Raises:
        ValueError: there is no such module.
    """
    if find_source(module) is None:
        raise ValueError(f"there is no source of the module {module}")
    return hash_content(sorted(map(_read_code, sources_of(module))))


def sources_of(module: str) -> set[Path]:
    """The files of a user's module and of all modules of the user's that it may come to import."""
    found: dict[str, Path] = {}
    waiting = [*_with_parents(module)]
    while waiting:
        name = waiting.pop()
        path = find_source(name)
        if name not in found and path:
            found[name] = path.absolute()
            waiting += _imported_modules(name, path)
    return {*found.values()}


def find_source(module: str) -> Path | None:
    """The file of a module; None of this project's, of Python's own and of installed ones.

    A package that is imported may have further folders, as `experiments` has.
    """
    first, *rest = module.split(".")
    if first in OURS or first in sys.stdlib_module_names:
        return None
    roots = [Path(entry or ".").resolve().joinpath(first, *rest) for entry in sys.path]
    package = sys.modules.get(module.rpartition(".")[0])
    roots += [Path(folder, module.rpartition(".")[2]) for folder in getattr(package, "__path__", ())]
    files = (path for root in roots for path in (root / "__init__.py", root.with_name(f"{root.name}.py")))
    path = next((path for path in files if path.is_file()), None)
    return None if path is None or _is_installed(path) else path


def _is_installed(path: Path) -> bool:
    is_standard = path.is_relative_to(sysconfig.get_path("stdlib"))
    return is_standard or not {"site-packages", "dist-packages"}.isdisjoint(path.parts)


def _read_code(path: Path) -> str:
    """What a module says, without comments, docstrings and layout."""
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            has_docstring = ast.get_docstring(node, clean=False) is not None
            node.body = node.body[has_docstring:] or [ast.Pass()]
    return ast.unparse(tree)


def _imported_modules(module: str, path: Path) -> Iterator[str]:
    """Every name that a module imports, early or late, be it a module, something in one, or a package."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_bytes())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            names = [origin, *(f"{origin}.{name}" for name in names)]
        yield from (part for name in names for part in _with_parents(name))


def _with_parents(module: str) -> Iterator[str]:
    """Importing a.b.c imports a and a.b first."""
    parts = module.split(".")
    yield from (".".join(parts[: i + 1]) for i in range(len(parts)))
