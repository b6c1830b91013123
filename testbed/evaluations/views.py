"""What the explorer shows of each evaluation: its folder's `explorer.make_view`, or the usual columns."""

from importlib import import_module
from importlib.util import find_spec

from testbed.pages.explorer.view import View, usual_view
from testbed.scores.summary import ScoredEditor


def view_of(editor: ScoredEditor) -> View:
    """The columns and presets of an editor's edits.

    Apart from `Evaluation`, on whose code the identity of cases depends.
    """
    package = getattr(editor.evaluation, "package", "")
    if package and find_spec(f"{package}.explorer"):
        view: View = import_module(f"{package}.explorer").make_view(editor)
        return view
    return usual_view(editor)
