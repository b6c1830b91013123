"""What code does, as data: names of local variables and annotations change nothing, and all else does."""

import ast
import copy
import json
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.engine.syntax import describe_code

NAMES = ("a", "b", "c", "d")
OTHERS = ("total", "row", "k", "found")


def describe_source(source):
    tree = source if isinstance(source, ast.AST) else ast.parse(source)
    return json.dumps(describe_code(ast.parse(ast.unparse(tree))))


# A function of a parameter p, a global G and four locals, all bound before they are used.
START = "".join(f"    {name} = p.start[{i}]\n" for i, name in enumerate(NAMES))
local = st.sampled_from(NAMES)
value = st.one_of(local, st.sampled_from(["p", "G", "1", "2.5", "'text'"]))


def expressions(inner):
    operator = st.sampled_from(["+", "*", "-", "<", "and"])
    return st.one_of(
        st.builds("({} {} {})".format, inner, operator, inner),
        st.builds("({}).find({}, key={})".format, inner, inner, inner),
        st.builds("[{0} * {1} for {0} in {2} if {0}]".format, local, inner, inner),
        st.builds("(lambda x, y={}: x + {})".format, inner, inner),
    )


expression = st.recursive(value, expressions, max_leaves=6)


def indent_block(block):
    return textwrap.indent(block, "    ")


def indent_blocks(some):
    return indent_block("".join(some))


def blocks(inner):
    name, held, block = local, expression, st.lists(inner, min_size=1, max_size=3).map(indent_blocks)
    return st.one_of(
        st.builds("for {} in {}:\n{}".format, name, held, block),
        st.builds("if {}:\n{}else:\n{}".format, held, block, block),
        st.builds("try:\n{1}except OSError as {0}:\n    raise\n".format, name, block),
        st.builds("def nested(q):\n    nonlocal {}\n{}    return {}\n".format, name, block, held),
        st.builds("match {1}:\n    case [1, *{0}] if {2}:\n        pass\n".format, name, held, held),
    )


simple = st.one_of(
    st.builds("{} = {}\n".format, local, expression),
    st.builds("{} += {}\n".format, local, expression),
    st.builds("p.use({}, ({} := {}))\n".format, expression, local, expression),
)
statement = st.recursive(simple, blocks, max_leaves=5)
functions = st.builds(
    lambda some, end: f"def f(p):\n{START}{indent_blocks(some)}    return {end}\n",
    st.lists(statement, min_size=1, max_size=4),
    expression,
)


def names_in(tree):
    """Every place where the name of a local variable stands: node, field, and place in a list."""
    for node in ast.walk(tree):
        for field, held in ast.iter_fields(node):
            if not isinstance(node, ast.arg | ast.Attribute | ast.keyword | ast.FunctionDef):
                for place, text in enumerate(held if isinstance(held, list) else [held]):
                    if text in NAMES:
                        yield node, field, place if isinstance(held, list) else None


def put(place, text):
    node, field, index = place
    if index is None:
        setattr(node, field, text)
    else:
        getattr(node, field)[index] = text


def rename_variables(tree, names):
    tree = copy.deepcopy(tree)
    for place in [*names_in(tree)]:
        node, field, index = place
        held = getattr(node, field)
        put(place, names[held if index is None else held[index]])
    return tree


@settings(max_examples=30)
@given(functions, st.permutations(NAMES), st.permutations(OTHERS))
def test_names_of_locals_change_nothing(source, swapped, others):
    tree = ast.parse(source)
    for names in (swapped, others):
        assert describe_source(
            rename_variables(tree, dict(zip(NAMES, names, strict=True)))
        ) == describe_source(source)


@settings(max_examples=30)
@given(functions, st.data())
def test_whatever_else_is_changed_counts(source, data):
    """A constant, an operator, an attribute, a keyword, a parameter; and one use of another local."""
    tree = ast.parse(source)
    numbers = [x for x in ast.walk(tree) if isinstance(x, ast.Constant)]
    attributes = [x for x in ast.walk(tree) if isinstance(x, ast.Attribute)]
    keywords = [x for x in ast.walk(tree) if isinstance(x, ast.keyword)]
    operators = [x for x in ast.walk(tree) if isinstance(x, ast.BinOp)]
    whole = [x for x in ast.walk(tree) if isinstance(x, ast.Name) and x.id in ("p", "G")]
    kind = data.draw(st.sampled_from(["constant", "attribute", "keyword", "operator", "global", "argument"]))
    before = describe_source(tree)
    if kind == "constant":
        one = data.draw(st.sampled_from(numbers))
        one.value = f"{one.value}!" if isinstance(one.value, str) else one.value + 1
    elif kind == "attribute":
        data.draw(st.sampled_from(attributes)).attr = "other"
    elif kind == "keyword" and keywords:
        data.draw(st.sampled_from(keywords)).arg = "other"
    elif kind == "operator" and operators:
        data.draw(st.sampled_from(operators)).op = ast.FloorDiv()
    elif kind == "global":
        data.draw(st.sampled_from(whole)).id = "other"
    else:
        tree.body[0].args.args[0].arg = "other"
    assert describe_source(tree) != before


BINDINGS = """
def f(p):
    a, b = p.first, p.second
    rest = [a for a in b]
    for a in rest:
        b = b + a
    return a - b
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return a - b", "return b - a"),
        ("return a - b", "return a - rest"),
        ("[a for a in b]", "[a for b in b]"),
        ("[a for a in b]", "[b for a in b]"),
        ("for a in rest", "for b in rest"),
        ("for a in rest", "for c in rest"),
        ("b + a\n", "b + p\n"),
        ("b + a\n", "b + len\n"),
        ("a, b = p.first", "b, a = p.first"),
        ("b = b + a", "b = a + b"),
        ("    rest =", "    global rest\n    rest ="),
        ("def f(p)", "def f(q)"),
        ("def f(p)", "def g(p)"),
        ("def f(p)", "def f(p=None)"),
        ("def f(p)", "def f(*p)"),
    ],
)
def test_which_local_is_used_where_counts(old, new):
    assert old in BINDINGS
    assert describe_source(BINDINGS.replace(old, new, 1)) != describe_source(BINDINGS)


SAME = [
    ("x = 1\n", "x: int = 1\n"),
    ("def f(p, *, q=1): return p", "def f(p: int, *, q: 'str' = 1) -> list[int]: return p"),
    ("def f(p): return p", "def f(p):\n    '''Text.'''\n    return p  # And more."),
    ("def f(p):\n    x = 1\n    return x", "def f(p):\n    y: int = (1)\n    return y"),
    ("import x", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import y\nimport x"),
    ("class A:\n    x: int = 1", "class A:\n    x: float = 1"),
    ("def f(p):\n    def g(q):\n        return x + q\n    x = 1\n    return g",
     "def f(p):\n    def g(q):\n        return y + q\n    y = 1\n    return g"),
    ("def f(p):\n    class A:\n        x, z = 1, y\n        def g(s): return x\n    x = y = 2\n    return A",
     "def f(p):\n    class A:\n        x, z = 1, b\n        def g(s): return a\n    a = b = 2\n    return A"),
    ("def f(p): return any((x := q) for q in p) and x", "def f(p): return any((y := r) for r in p) and y"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_code(one, other):
    # An import for checkers needs the name of that branch, which is an import as others are.
    other = other.replace("from typing import TYPE_CHECKING\n", "")
    assert describe_source(one) == describe_source(other)


DIFFERENT = [
    ("x = 1", "y = 1"),
    ("def f(p): return x", "def f(p): return y"),
    ("def f(p):\n    import a\n    return a", "def f(p):\n    import b\n    return b"),
    ("def f(p):\n    def g(): return 1\n    return g", "def f(p):\n    def h(): return 1\n    return h"),
    ("def f(p):\n    x = 1\n    return locals()", "def f(p):\n    y = 1\n    return locals()"),
    ("def f(p):\n    x = 1\n    return f'{x=}'", "def f(p):\n    y = 1\n    return f'{y=}'"),
    ("class A:\n    x: int = 1", "class A:\n    x = 1"),
    ("class A:\n    x: int", "class A:\n    y: int"),
    ("class A:\n    x: int = 1", "class A:\n    x: ClassVar[int] = 1"),
    ("class A:\n    x = 1\n    def g(self): return x", "class A:\n    y = 1\n    def g(self): return y"),
    ("def f(p):\n    x = 1\n    def g():\n        x = 2\n    g()\n    return x",
     "def f(p):\n    x = 1\n    def g():\n        nonlocal x\n        x = 2\n    g()\n    return x"),
    ("def f(p):\n    x = 1\n    class A:\n        x = 2\n        def g(self): return x\n    return A",
     "def f(p):\n    y = 1\n    class A:\n        x = 2\n        def g(self): return x\n    return A"),
    ("if TYPE_CHECKING:\n    x = 1\nelse:\n    x = 2", "if TYPE_CHECKING:\n    x = 1\nelse:\n    x = 3"),
    ("f(x=1)", "f(y=1)"),
    ("x = 1", "x = 1.0"),
    ("x = 1", "x = True"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_other_code(one, other):
    assert describe_source(one) != describe_source(other)
