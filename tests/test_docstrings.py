"""Examples in docstrings do what they say."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

HOME = Path(__file__).parents[1]
WITH_EXAMPLES = sorted(
    ".".join(path.relative_to(HOME).with_suffix("").parts)
    for room in ("corpus", "bayes", "lm", "testbed", "experiments")
    for path in (HOME / room).rglob("*.py")
    if "\n    >>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_in_docstrings(name):
    module = import_module(name)
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0
