"""python -m testbed.engine.isolation.worker my_module:MyEditor: an editor at work, and nothing else.

It reads questions from standard input and answers on standard output (`testbed.engine.isolation.messages`).
Whatever the editor prints goes to standard error.
"""

import os
import signal
import sys
import types
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import partial
from inspect import isfunction
from typing import IO, Any, Literal, Union, get_args, get_origin, get_type_hints

import docstring_parser
import jax
import numpy as np

from corpus.errors import InputError
from lm.config import ModelConfig
from lm.delta import Delta
from lm.editors.interface import Editor, Info, Request, State, edit_once, trait_of
from lm.language_model import LanguageModel
from testbed.engine.catalogue import FORMS, edits_torch_models
from testbed.engine.checks import check_edit, check_settings, errors_attributed_to, prepare_editor
from testbed.engine.integrity import is_traced_alike
from testbed.engine.isolation import PLAIN
from testbed.engine.isolation.messages import receive, send
from testbed.engine.torch_editor import TorchEditor, list_facts, require_torch
from testbed.own import find_own, import_own
from testbed.run.runtime import prepare_jax
from testbed.run.watch import watch_files


@partial(jax.jit, static_argnames="editor")
def edit_many(
    editor: Editor, model: LanguageModel, state: State, carried: Delta, batch: Request, keys: jax.Array
) -> tuple[Delta, Info]:
    """Edits side by side, each on top of what its own model carries; arrays lead with edits."""

    def one(carried: Delta, request: Request, key: jax.Array) -> tuple[Delta, Info]:
        return editor.edit(model.with_delta(carried), state, request, key)

    return jax.vmap(one)(carried, batch, keys)


class EditorWorker:
    """One editor with the settings that it was last given.

    Args:
        name: my_module:MyEditor.

    Raises:
        InputError: no such editor.
    """

    def __init__(self, name: str) -> None:
        self.kind = self.default = find_own(name, "editor")
        self.is_torch = edits_torch_models(self.kind)
        if not isfunction(self.kind) or not self.is_torch:
            needs = ("edit",) if self.is_torch else ("prepare", "edit")
            self.kind, self.default = import_own(name, "editor", needs, FORMS)
            check_settings(self.default)
        if self.is_torch:
            require_torch(name)
        self.name, self.editor, self.settings = name, self.default, dict[str, Any]()
        self.facts: dict[tuple[bytes, bytes], dict[str, Any]] = {}
        self.model: LanguageModel | None = None
        self.state: State = {}

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        """Do what is wanted; an error of the editor's is an answer, too."""
        handle = {"prepare": self._prepare, "shapes": self._find_shapes, "edit": self._edit}
        try:
            return self._describe() if question["what"] == "describe" else handle[question["what"]](question)
        except InputError as error:
            return {"error": str(error)}

    def _describe(self) -> dict[str, Any]:
        """What the command has to know of the editor."""
        return {
            "path": f"{self.kind.__module__}:{self.kind.__qualname__}",
            "about": (self.kind.__doc__ or "").strip().partition("\n")[0],
            "search": {name: list(choices) for name, choices in getattr(self.kind, "SEARCH", {}).items()},
            "reads": list(trait_of(self.kind, "reads")),
            "fields": [] if isfunction(self.default) else describe_fields(self.name, self.default),
            "is_torch": self.is_torch,
        }

    def _prepare(self, question: dict[str, Any]) -> dict[str, Any]:
        """Prepare the editor of some settings for a model; the arrays of its state, in their order."""
        with errors_attributed_to(self.default, "its settings"):
            self.editor = build_editor(self.default, question["settings"])
        self.settings = question["settings"]
        if self.is_torch:
            files, may_fail = question["tokenizer_files"], question["may_fail"]
            self.editor = TorchEditor(self.editor, files, self._find_fact, may_fail)
            self._keep_facts(question["sample"].practice, question["facts"])
        params = jax.tree.map(jax.numpy.asarray, question["params"])
        self.model = LanguageModel(ModelConfig(**question["config"]), params)
        self.state = prepare_editor(self.editor, self.model, question["sample"])
        return {"state": jax.tree.leaves(self.state)}

    def _find_shapes(self, question: dict[str, Any]) -> dict[str, Any]:
        """Shapes of what an edit returns, and whether another trace is the same program."""
        model, state = self._model_and_state(question)
        carried, request = question["arguments"]
        arguments = (model.with_delta(carried), state, request, jax.random.key(0))
        with errors_attributed_to(self.editor, "edit"):
            returned = edit_once.eval_shape(self.editor, *arguments)
        check_edit(self.editor, model, returned)
        return {"edit": returned, "is_traced_alike": is_traced_alike(self.editor, *arguments)}

    def _edit(self, question: dict[str, Any]) -> dict[str, Any]:
        """One edit, or many side by side."""
        model, state = self._model_and_state(question)
        carried, request, key_data = question["arguments"]
        key = jax.random.wrap_key_data(key_data)
        self._keep_facts(request, question["facts"])
        with errors_attributed_to(self.editor, "edit"):
            if key.ndim:
                returned = edit_many(self.editor, model, state, carried, request, key)
            else:
                returned = edit_once(self.editor, model.with_delta(carried), state, request, key)
            edits = jax.block_until_ready(returned)
        causes = self.editor.causes if isinstance(self.editor, TorchEditor) else {}
        return {"edit": edits, "causes": dict(causes)}

    def _keep_facts(self, request: Request, facts: list[dict[str, Any]]) -> None:
        """Know what requests say, whose first facts these are."""
        self.facts |= {
            (prompt.tobytes(), answer.tobytes()): fact
            for (prompt, answer, _), fact in zip(list_facts(request), facts, strict=False)
        }

    def _find_fact(self, prompt: np.ndarray, answer: np.ndarray, credence: float) -> dict[str, Any]:
        return self.facts[prompt.tobytes(), answer.tobytes()] | {"credence": credence}

    def _model_and_state(self, question: dict[str, Any]) -> tuple[LanguageModel, State]:
        if self.model is None or question["settings"] != self.settings:
            raise InputError(f"editor {self.name} was not prepared with {question['settings']}")
        return self.model, self.state


def describe_fields(name: str, settings: Any) -> list[dict[str, Any]]:
    """The fields of an editor with their defaults, as JSON.

    Raises:
        InputError: a field is neither a number, a word, a choice, several of them, nor a dataclass of these.
    """
    hints, described = get_type_hints(type(settings)), list[dict[str, Any]]()
    documented = docstring_parser.parse_from_object(type(settings)).params
    abouts = {one.arg_name: " ".join((one.description or "").split()) for one in documented}
    for one in fields(settings):
        value, common = getattr(settings, one.name), {"name": one.name, "about": abouts.get(one.name, "")}
        if is_dataclass(value):
            inside = {"class": type(value).__name__, "fields": describe_fields(name, value)}
            described.append(common | inside)
            continue
        kind = _describe_type(hints[one.name])
        if kind is None:
            raise InputError(
                f"isolated:{name}: the field {one.name} is a {hints[one.name]}, which cannot be told to "
                "another process; use numbers, words, choices, tuples of any length, or dataclasses of them"
            )
        is_result = one.metadata.get("result", True)
        described.append(common | {"type": kind, "default": value, "result": is_result})
    return described


def _describe_type(hint: Any) -> Any:
    """A type as JSON: its name, or ["choice", values], ["several", type], ["optional", type]; or None."""
    origin, inside = get_origin(hint), get_args(hint)
    if hint in PLAIN.values():
        return hint.__name__
    if origin is Literal:
        return ["choice", list(inside)]
    rest = [one for one in inside if one not in (type(None), ...)]
    if len(rest) != 1 or (kind := _describe_type(rest[0])) is None:
        return None
    if origin is tuple and inside[1:] == (...,):
        return ["several", kind]
    return ["optional", kind] if origin in (Union, types.UnionType) else None


def build_editor(default: Any, settings: dict[str, Any]) -> Any:
    """The editor with settings from JSON."""
    if isfunction(default):
        return default
    values = {}
    for one in fields(default):
        value, before = settings[one.name], getattr(default, one.name)
        if is_dataclass(before):
            value = build_editor(before, value)
        values[one.name] = tuple(value) if isinstance(value, list) else value
    return type(default)(**values)


def answer_questions(name: str, questions: IO[bytes], answers: IO[bytes]) -> None:
    """Answer until nobody asks any more; with every answer goes what the editor has touched."""
    with watch_files() as touched:
        try:
            answer = EditorWorker(name).answer
        except InputError as error:
            answer = partial(dict, error=str(error))
        with suppress(EOFError):
            while True:
                said = answer(receive(questions))
                send(answers, said | {"read": sorted(touched.read), "changed": sorted(touched.changed)})


if __name__ == "__main__":
    # An interrupt is for the command, which ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    prepare_jax()
    answer_questions(sys.argv[1], questions, answers)
