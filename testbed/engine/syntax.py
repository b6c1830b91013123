"""What code does, as data: its syntax tree without what changes nothing.

Left out are layout, comments, docstrings, annotations, imports for types alone, and the names of local
variables, in whose place their number stands, counted in the order of the text. Names stay that can be seen
from elsewhere: of modules, classes and functions, nested ones too (they bear them), of parameters (callers
may say them), attributes, keywords and imports; and every name in a function that looks at its own, by
`locals()` or the like. In a class an annotation makes a field, which stays without its type, unless that type
says what kind of field it is.
"""

import ast
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

LOOKS_AT_NAMES = {"locals", "vars", "eval", "exec", "dir"}
FIELD_KINDS = ("ClassVar", "InitVar", "KW_ONLY")
NAMED_BY: dict[type, str] = {
    ast.Name: "id",
    ast.ExceptHandler: "name",
    ast.MatchAs: "name",
    ast.MatchStar: "name",
    ast.MatchMapping: "rest",
    ast.Global: "names",
    ast.Nonlocal: "names",
}
"""The fields in which names of variables stand as text."""
_IGNORED_FIELDS = {"ctx", "kind", "type_comment", "type_params"}
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class _Scope(NamedTuple):
    """Where names are bound.

    Attributes:
        variables: local variables whose names are blanked.
        names: what else is bound here, under its name.
        outer: names that are said to be bound further out: `global` to False, `nonlocal` to True.
        is_class: whether functions inside do not see these names.
    """

    variables: dict[str, list[int]]
    names: set[str]
    outer: dict[str, bool]
    is_class: bool = False


def describe_code(tree: ast.Module) -> list:
    """The syntax tree of a module as JSON holds it; equal for modules that do the same in the same way."""
    return _Description().describe(tree)


class _Description:
    """One pass over a module, with the scopes around the current place and a count of local variables."""

    def __init__(self) -> None:
        self.scopes: list[_Scope] = []
        self.count = 0

    def describe(self, node: Any) -> Any:
        """A node, or a list of them, as lists; fields that are empty are left out."""
        if isinstance(node, list):
            return [self.describe(one) for one in node if not (_is_text(one) or is_for_types(one))]
        if not isinstance(node, ast.AST):
            return node if isinstance(node, str | int | float | None) else [type(node).__name__, repr(node)]
        if isinstance(node, Function):
            return self._describe_function(node)
        if isinstance(node, ast.ClassDef):
            return self._describe_class(node)
        if isinstance(node, Comprehension):
            return self._describe_comprehension(node)
        if isinstance(node, ast.AnnAssign):
            return self._describe_annotated(node)
        fields = dict(ast.iter_fields(node))
        key = NAMED_BY.get(type(node))
        if key:
            value = fields[key]
            fields[key] = [*map(self._resolve, value)] if isinstance(value, list) else self._resolve(value)
        return self._describe_fields(node, fields)

    def _describe_fields(self, node: ast.AST, fields: dict[str, Any]) -> list:
        described = [
            (key, self.describe(value)) for key, value in fields.items() if key not in _IGNORED_FIELDS
        ]
        return [type(node).__name__, *([key, value] for key, value in described if value not in (None, []))]

    def _describe_inside(self, scope: _Scope, node: Any) -> Any:
        self.scopes.append(scope)
        described = self.describe(node)
        self.scopes.pop()
        return described

    def _describe_function(self, node: Function) -> list:
        """Decorators and defaults belong to the scope around it."""
        a = node.args
        parameters = [*a.posonlyargs, *a.args, *a.kwonlyargs, *(x for x in (a.vararg, a.kwarg) if x)]
        scope = _scope_of(node, {parameter.arg for parameter in parameters})
        kinds = [len(a.posonlyargs), len(a.args), len(a.kwonlyargs), bool(a.vararg), bool(a.kwarg)]
        outside = [getattr(node, "decorator_list", []), a.defaults, a.kw_defaults]
        return [
            type(node).__name__,
            getattr(node, "name", ""),
            [parameter.arg for parameter in parameters],
            kinds,
            *([self.describe(one) for one in some] for some in outside),
            self._describe_inside(scope, node.body),
        ]

    def _describe_class(self, node: ast.ClassDef) -> list:
        outside = [self.describe(some) for some in (node.decorator_list, node.bases, node.keywords)]
        bindings = list(_bound_names(node.body))
        outer = {name: how for name, how in bindings if isinstance(how, bool)}
        names = {name for name, _ in bindings} - {*outer}
        inside = self._describe_inside(_Scope({}, names, outer, is_class=True), node.body)
        return ["ClassDef", node.name, *outside, inside]

    def _describe_comprehension(self, node: Comprehension) -> list:
        """The first of its iterables belongs to the scope around it."""
        first = self.describe(node.generators[0].iter)
        targets = [x for g in node.generators for x in ast.walk(g.target) if isinstance(x, ast.Name)]
        self.scopes.append(_Scope({x.id: [] for x in targets if isinstance(x.ctx, ast.Store)}, set(), {}))
        loops = []
        for number, g in enumerate(node.generators):
            iterable = self.describe(g.iter) if number else first
            loops.append([iterable, self.describe(g.target), self.describe(g.ifs), g.is_async])
        parts = [self.describe(getattr(node, key)) for key in ("elt", "key", "value") if hasattr(node, key)]
        self.scopes.pop()
        return [type(node).__name__, loops, parts]

    def _describe_annotated(self, node: ast.AnnAssign) -> list:
        in_class = bool(self.scopes) and self.scopes[-1].is_class
        if node.value is not None and not in_class:
            return self.describe(ast.Assign([node.target], node.value))
        words = ast.unparse(node.annotation)
        kinds = [kind for kind in FIELD_KINDS if in_class and kind in words]
        return ["AnnAssign", self.describe(node.target), self.describe(node.value), kinds]

    def _resolve(self, name: str | None) -> str | list[int] | None:
        """A name as it stands, or the number of the local variable that it means here."""
        if name is None:
            return None
        for depth, scope in enumerate(reversed(self.scopes)):
            if scope.is_class and depth:
                continue
            if name in scope.outer:
                if scope.outer[name]:
                    continue
                return name
            if name in scope.names:
                return name
            if name in scope.variables:
                number = scope.variables[name]
                if not number:
                    number.append(self.count)
                    self.count += 1
                return number
        return name


def is_for_types(node: Any) -> bool:
    """Whether a statement is a branch for checkers of types alone, and no other."""
    if not isinstance(node, ast.If) or node.orelse:
        return False
    return ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def _is_text(node: Any) -> bool:
    """Whether it is text that stands as a statement of its own."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _scope_of(node: Function, parameters: set[str]) -> _Scope:
    """What a function binds."""
    body = node.body if isinstance(node.body, list) else [node.body]
    bindings = list(_bound_names(body))
    outer = {name: how for name, how in bindings if isinstance(how, bool)}
    fixed_names = parameters | {name for name, how in bindings if how == ""}
    variables = {name for name, how in bindings if how is None} - fixed_names - {*outer}
    if any(isinstance(x, ast.Name) and x.id in LOOKS_AT_NAMES for one in body for x in ast.walk(one)):
        fixed_names, variables = fixed_names | variables, set()
    return _Scope({name: [] for name in variables}, fixed_names - {*outer}, outer)


def _bound_names(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, bool | str | None]]:
    """Names that statements bind, but for those of the scopes inside them.

    Yields:
        The name, and how: None as a variable, "" as a function, class or import, which keeps its name; or
        that it is declared to be bound outside: False for `global`, True for `nonlocal`.
    """
    for node in nodes:
        inside: Sequence[ast.AST] = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.Global | ast.Nonlocal):
            yield from ((name, isinstance(node, ast.Nonlocal)) for name in node.names)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (((alias.asname or alias.name.partition(".")[0]), "") for alias in node.names)
        elif isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                yield node.id, None
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name, None
        elif isinstance(node, ast.MatchMapping) and node.rest:
            yield node.rest, None
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, ""
            inside = [*node.decorator_list, *_defaults_of(node)]
        elif isinstance(node, ast.Lambda):
            inside = _defaults_of(node)
        elif isinstance(node, ast.ClassDef):
            yield node.name, ""
            inside = [*node.decorator_list, *node.bases, *node.keywords]
        elif isinstance(node, Comprehension):
            yield from ((name, None) for name in _named_within(node))
            inside = []
        yield from _bound_names(inside)


def _named_within(node: ast.AST) -> Iterator[str]:
    """What `:=` binds inside a comprehension, which is a variable of the function around it."""
    for below in ast.iter_child_nodes(node):
        if isinstance(below, ast.NamedExpr):
            yield below.target.id
        if not isinstance(below, ast.Lambda):
            yield from _named_within(below)


def _defaults_of(node: Function) -> list[ast.expr]:
    return [x for x in (*node.args.defaults, *node.args.kw_defaults) if x is not None]
