"""What the explorer shows of each evaluation: its folder's `explorer.make_view`, or the usual columns."""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from testbed.pages.explorer.view import View, usual_view
from testbed.scores.summary import ScoredEditor


def view_of(editor: ScoredEditor) -> View:
    """The columns and presets of an editor's edits.

    Apart from `Evaluation`, on whose code the identity of cases depends.
    """
    own = _find_explorer(editor.evaluation)
    view: View = own.make_view(editor) if own else usual_view(editor)
    return view


def roles_of(evaluation: Any) -> dict[str, str]:
    """What questions of a role are about, for people, where the role does not say it."""
    return getattr(_find_explorer(evaluation), "ROLE_NAMES", {})


def _find_explorer(evaluation: Any) -> ModuleType | None:
    package = getattr(evaluation, "package", "")
    has_own = package and find_spec(f"{package}.explorer")
    return import_module(f"{package}.explorer") if has_own else None
