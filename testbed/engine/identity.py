"""What a result depends on: settings as data, and the code that made it as a hash.

The code of a module is what it says and what every module that it imports says, inside the project: the
packages corpus, bayes, lm, testbed, and whatever else is neither Python's own nor installed. Read from the
files, without importing or running any of it. Names of local variables, annotations, docstrings, comments,
layout and imports for types change nothing (see `testbed.engine.syntax`); nor do EDITORS and SEARCH, which
say how an editor is offered and tried, not what it does.
"""

import ast
import hashlib
import json
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

from corpus.errors import InputError
from corpus.files import hash_content, hash_file
from testbed.engine.syntax import describe_code, is_for_types
from testbed.own import OURS
from testbed.run.settings import as_plain_data

if TYPE_CHECKING:
    from testbed.engine.methods import Method

PROJECT = OURS
HOME = Path(__file__).parents[2]
OFFERS = {"EDITORS", "SEARCH"}


def method_identity(method: "Method") -> dict[str, Any]:
    """What a method's results depend on, as JSON holds it.

    Returns:
        editor: the path of its class, or of the user's class or function that it calls; settings: fields of
        that, nested, without those that are marked `field(metadata={"result": False})`; facts: the function
        that says what it is told; caller: the path of the editor's class, where it calls a user's own;
        code: of all their modules; reads: hashes of the data that it says it reads, if any, by name.

    Raises:
        InputError: such data is not there.
    """
    author = method.author or method.editor
    settings = {} if isinstance(author, FunctionType) else as_plain_data(author)
    parts: dict[str, Any] = {
        "editor": path_of(author),
        "settings": settings,
        "facts": path_of(method.facts_told),
    }
    if method.author:
        parts["caller"] = path_of(method.editor)
    if names := getattr(author, "reads", ()):
        parts["reads"] = hash_reads(path_of(author), names)
    return parts | {"code": code_of_method(parts)}


def hash_reads(editor: str, names: Iterable[str]) -> dict[str, str]:
    """Hashes of what an editor reads: files beside its module, and variables of the environment, as $NAME.

    Raises:
        InputError: there is no such file.
    """
    hashes = {}
    for name, path in paths_of_reads(editor, names).items():
        if name.startswith("$"):
            hashes[name] = hash_content(os.environ.get(name[1:]))
        elif path.is_file():
            hashes[name] = hash_file(path)
        else:
            raise InputError(f"editor {editor} says that it reads {name}, and {path} is no file")
    return hashes


def sources_of(module: str) -> set[Path]:
    """The files whose code the identity of a module holds; none where it has no source."""
    names = modules_of(module) if _source_file(module) else set()
    return {path.absolute() for name in names if (path := _source_file(name))}


def paths_of_reads(editor: str, names: Iterable[str]) -> dict[str, Path]:
    """Where files lie that an editor says it reads."""
    source = _source_file(editor.partition(":")[0])
    return {name: (source.parent if source else Path()).absolute() / name for name in names}


def path_of(thing: Any) -> str:
    """module:name of a function, or of the class of anything else."""
    kind = thing if isinstance(thing, FunctionType) else type(thing)
    return f"{kind.__module__}:{kind.__qualname__}"


def code_of_method(parts: Mapping[str, Any]) -> str:
    """The hash of the code of an editor and of what it is told, as `method_identity` names them.

    Raises:
        ValueError: there is no such code here.
    """
    paths = [parts[part] for part in ("editor", "facts", "caller") if part in parts]
    modules = dict.fromkeys(path.partition(":")[0] for path in paths)
    return hashlib.sha256(" ".join(map(code_of, modules)).encode()).hexdigest()[:12]


@cache
def code_of(module: str) -> str:
    """A short hash of the code of a module and of all that it imports inside the project, late or not.

    Raises:
        ValueError: no such module in the project or on Python's path.
    """
    texts = [f"{name} {_read_module(name)[0]}" for name in sorted(modules_of(module))]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]


def modules_of(module: str) -> set[str]:
    """A module, and all modules inside the project that it may come to import.

    Raises:
        ValueError: no such module in the project or on Python's path.
    """
    if _source_file(module) is None:
        raise ValueError(f"there is no source of the module {module}")
    reached, waiting = {module}, [module]
    while waiting:
        _, imports = _read_module(waiting.pop())
        new = {name for name in imports if name not in reached and _source_file(name)}
        reached |= new
        waiting += new
    return reached


@cache
def _read_module(module: str) -> tuple[str, tuple[str, ...]]:
    """A hash of what a module says, and the names of what it may import."""
    path = _source_file(module)
    assert path is not None
    tree = ast.parse(path.read_bytes())
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    # Importing a.b.c imports a and a.b first.
    imports = {
        part for name in (module, *_imported_names(tree, package)) for part in (*_parent_packages(name), name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef):
            node.body = [statement for statement in node.body if not _is_offer(statement)]
    content = json.dumps(describe_code(tree))
    return hashlib.sha256(content.encode()).hexdigest(), tuple(sorted(imports))


@cache
def _source_file(module: str) -> Path | None:
    """The source of a module inside the project; None for any other.

    A package that is imported may have further folders, as `experiments` has.
    """
    first, *rest = module.split(".")
    if first in PROJECT:
        roots = [HOME]
    elif first in sys.stdlib_module_names:
        return None
    else:
        roots = [Path(entry or ".").resolve() for entry in sys.path]
    package = sys.modules.get(module.rpartition(".")[0])
    folders = map(Path, getattr(package, "__path__", ()))
    for base in (
        *(root.joinpath(first, *rest) for root in roots),
        *(f / module.split(".")[-1] for f in folders),
    ):
        for path in (base / "__init__.py", base.with_name(f"{base.name}.py")):
            if path.is_file():
                return path if first in PROJECT or not _is_installed(path) else None
    return None


def _is_installed(path: Path) -> bool:
    is_standard = path.is_relative_to(sysconfig.get_path("stdlib"))
    return is_standard or not {"site-packages", "dist-packages"}.isdisjoint(path.parts)


def _parent_packages(module: str) -> Iterator[str]:
    parts = module.split(".")
    yield from (".".join(parts[:i]) for i in range(1, len(parts)))


def _imported_names(node: ast.AST, package: str) -> Iterator[str]:
    """Names imported anywhere below a node, but for types; both a module and what is taken from it."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
        origin = ".".join([*above, *([node.module] if node.module else [])])
        yield origin
        yield from (f"{origin}.{alias.name}" for alias in node.names)
    elif not is_for_types(node):
        for below in ast.iter_child_nodes(node):
            yield from _imported_names(below, package)


def _is_offer(node: Any) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return any(isinstance(target, ast.Name) and target.id in OFFERS for target in targets)
