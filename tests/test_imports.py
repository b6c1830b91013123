"""The house rules of design.md 1, read from the source."""

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ALLOWED = {
    "corpus": {"corpus"},
    "bayes": {"bayes", "corpus"},
    "lm": {"lm", "corpus"},
    "testbed": {"testbed", "bayes", "lm", "corpus"},
    "experiments": {"experiments", "testbed", "bayes", "lm", "corpus"},
}
ROOMS = ("run", "engine", "scores", "pages", "evaluations")
"""Of testbed, in order: each may use itself and those before it. The modules at the door may use all."""
OPEN_TO_ALL = {"testbed.protocol", "testbed.own"}
WITHOUT_JAX = {"corpus", "bayes"}
JAX = {"jax", "flax", "optax", "orbax"}
UNSAFE_CALLS = {"eval", "exec"}
FILES = [p for package in ALLOWED for p in sorted((ROOT / package).rglob("*.py"))]


@cache
def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module.split(".")[0]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_one_way(path):
    package = path.relative_to(ROOT).parts[0]
    packages = set(imported(parsed(path)))
    assert packages & ALLOWED.keys() <= ALLOWED[package]
    if package in WITHOUT_JAX:
        assert not packages & JAX


def modules_imported(tree):
    """Full names, but for those that only types need."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        yield from modules_imported(node)


@pytest.mark.parametrize(
    "path", [p for room in ROOMS for p in sorted((ROOT / "testbed" / room).rglob("*.py"))],
    ids=lambda p: str(p.relative_to(ROOT / "testbed")),
)  # fmt: skip
def test_rooms_use_only_rooms_before_them(path):
    room = path.relative_to(ROOT / "testbed").parts[0]
    allowed = {f"testbed.{name}" for name in ROOMS[: ROOMS.index(room) + 1]} | OPEN_TO_ALL
    for module in modules_imported(parsed(path)):
        if module.startswith("testbed."):
            assert any(module.startswith(f"{name}.") for name in allowed), module


@pytest.mark.parametrize("path", sorted((ROOT / "corpus" / "text").glob("*.py")), ids=lambda p: p.stem)
def test_text_is_about_any_world(path):
    """Worlds come from many sources; what is said of one is made of its graph, whatever that came from."""
    assert not [name for name in modules_imported(parsed(path)) if name.startswith("corpus.worlds")]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_nothing_is_too_long_to_read(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 600


def test_no_modules_import_each_other():
    """Nor for the sake of their types alone; what a function imports when it is called is not looked at."""
    imports = {}
    for path in FILES:
        tree = parsed(path)
        top = ast.Module([n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom | ast.If)], [])
        name = path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
        imports[name] = set()
        for node in ast.walk(top):
            if isinstance(node, ast.ImportFrom):
                imports[name] |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    assert imports["lm.scoring"] >= {"lm.language_model"}
    TopologicalSorter(imports).prepare()


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_nothing_from_data_can_run(path):
    tree = parsed(path)
    assert not {"pickle", "dill", "marshal", "shelve"} & set(imported(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            assert not (isinstance(node.func, ast.Name) and node.func.id in UNSAFE_CALLS)
            for keyword in node.keywords:
                if keyword.arg == "allow_pickle":
                    assert isinstance(keyword.value, ast.Constant)
                    assert keyword.value.value is False


def test_the_rule_can_fail():
    assert set(imported(ast.parse("import lm.model\nfrom jax import numpy"))) == {"lm", "jax"}
    text = "def f():\n    from testbed.pages import page\nif TYPE_CHECKING:\n    import testbed.edit"
    assert list(modules_imported(ast.parse(text))) == ["testbed.pages.page"]
