"""What an editor prepares and returns, looked at once, so that a mistake in it becomes a message."""

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from corpus.errors import InputError
from lm.delta import KINDS, MATRICES, PARTS, Delta, Rows, block_of
from lm.editors.interface import CorpusSample, Editor, Info, Request, State, edit_once
from lm.language_model import LanguageModel
from lm.memory import Memory
from testbed.engine.versions import path_of
from testbed.own import OURS

INDICES = ("tokens", "positions", "real", "start", "keys", "before", "facts")
"""Arrays of a delta that may hold whole numbers or truth values."""


def check_settings(editor: Any) -> None:
    """Refuse an editor that may equal one with other settings: JAX takes equal ones for the same program.

    Raises:
        InputError: names a field that does not count, or a comparison of its own.
    """
    kind = type(editor)
    uncompared = [field.name for field in fields(kind) if not field.compare] if is_dataclass(kind) else []
    # What dataclasses write themselves comes from no file.
    written = getattr(kind.__eq__, "__code__", None)
    if uncompared or (written is not None and written.co_filename != "<string>"):
        what = f"does not compare {', '.join(uncompared)}" if uncompared else "has an __eq__ of its own"
        raise InputError(
            f"editor {path_of(editor)} {what}, so that JAX would take it for one with other settings; leave "
            "comparing to @dataclass(frozen=True)"
        )


def prepare_editor(editor: Editor, model: LanguageModel, sample: CorpusSample) -> State:
    """What an editor prepares for a model, which it is given in containers of its own: none is changed.

    Raises:
        InputError: an editor of the user's raises something, or returns something else than arrays.
    """
    with errors_attributed_to(editor, "prepare"):
        copied_sample = jax.tree.map(np.array, sample)
        state = jax.block_until_ready(editor.prepare(jax.tree.map(lambda x: x, model), copied_sample))
    for path, leaf in jax.tree_util.tree_leaves_with_path(state):
        if not isinstance(leaf, jax.Array | np.ndarray | np.generic | bool | int | float):
            _refuse(
                editor, "prepare", f"state{jax.tree_util.keystr(path)} is {_kind_name(leaf)}; use arrays only"
            )
    return state


def check_editor(editor: Editor, model: LanguageModel, state: State, requests: Request) -> None:
    """Look at what an editor returns for the first of some requests, before any edit is made.

    Raises:
        InputError: it is of a wrong form, or the editor of a user raises something.
    """
    first = jax.tree.map(lambda x: x[0], requests)
    with errors_attributed_to(editor, "edit"):
        returned = edit_once.eval_shape(editor, model, state, first, jax.random.key(0))
    check_edit(editor, model, returned)


def check_edit(editor: Editor, model: LanguageModel, returned: Any) -> None:
    """Refuse a delta or a report of a wrong form.

    Args:
        returned: what `edit` returned, of which only shapes and types matter.

    Raises:
        InputError: names the editor, the part and its shape.
    """
    if not (isinstance(returned, tuple) and len(returned) == 2):
        _refuse(editor, "edit", f"it returned {_kind_name(returned)}; return (delta, info)")
    delta, info = returned
    if not isinstance(delta, dict):
        _refuse(editor, "edit", f"the delta is {_kind_name(delta)}; make it a dict")
    for name, part in delta.items():
        if name not in PARTS:
            _refuse(editor, "edit", f"a delta has no part {name!r}; its parts are {', '.join(PARTS)}")
        wrong = _fault_of_part(name, part, model) or _fault_of_types(part)
        if wrong:
            _refuse(editor, "edit", f"delta[{name!r}] {wrong}")
    if not isinstance(info, Info):
        _refuse(editor, "edit", f"the second thing returned is {_kind_name(info)}; make it an Info")
    for name in ("steps", "forward", "backward"):
        if np.shape(getattr(info, name)) != ():
            _refuse(editor, "edit", f"info.{name} has shape {np.shape(getattr(info, name))}; give one number")
        if np.result_type(getattr(info, name)).kind not in "iu":
            kind = np.result_type(getattr(info, name))
            _refuse(editor, "edit", f"info.{name} is of type {kind}; give a whole number")
    if len(np.shape(info.loss)) != 1:
        _refuse(editor, "edit", f"info.loss has shape {np.shape(info.loss)}; give [steps]")
    if not jax.numpy.issubdtype(np.result_type(info.loss), jax.numpy.floating):
        _refuse(editor, "edit", f"info.loss is of type {np.result_type(info.loss)}; give real numbers")


def check_values(editor: Editor, model: LanguageModel, deltas: Delta, info: Info) -> None:
    """Refuse numbers that no edit can have: tokens that are none, work that is less than nothing.

    Args:
        deltas, info: of one edit or of several.

    Raises:
        InputError: names the editor and the number.
    """
    most = int(np.max(deltas["embedding"].tokens, initial=-1)) if "embedding" in deltas else -1
    if most >= model.vocabulary:
        _refuse(editor, "edit", f"delta['embedding'] names the token {most} of {model.vocabulary}, from 0 on")
    for name in ("steps", "forward", "backward"):
        if int(np.min(getattr(info, name), initial=0)) < 0:
            _refuse(editor, "edit", f"info.{name} is {int(np.min(getattr(info, name)))}; it counts work")


@contextmanager
def errors_attributed_to(editor: Editor, what: str) -> Iterator[None]:
    """Whatever goes wrong in the code of an editor of the user's becomes a message with its place."""
    author = getattr(editor, "user_editor", editor)
    try:
        yield
    except InputError:
        raise
    except (Exception, SystemExit, GeneratorExit) as raised:
        # What is raised inside a compiled program arrives without its place.
        error = getattr(editor, "failures", [])[-1:] or [raised]
        if isinstance(error[0], InputError):
            raise error[0] from None
        module = path_of(author).partition(":")[0]
        if module.partition(".")[0] in OURS:
            raise
        steps = traceback.extract_tb(error[0].__traceback__)
        own_steps = [step for step in steps if Path(step.filename).stem == module.rpartition(".")[2]]
        at = (own_steps or steps)[-1]
        # What a program called back arrives as text with a traceback, whose last line says why.
        inside = re.findall(r"^\w*(?:Error|Exception|Exit)\b.*$", str(error[0]), re.MULTILINE)
        message = str(error[0]).partition("\n")[0]
        said = inside[-1] if inside and "Traceback" in message else f"{type(error[0]).__name__}: {message}"
        why = f"{said} ({at.filename}, line {at.lineno})"
        raise InputError(f"editor {path_of(author)}, in {what}: {why}") from error[0]


def _fault_of_part(name: str, part: Any, model: LanguageModel) -> str:
    """What is wrong with one part of a delta; empty where nothing is."""
    config = model.config
    layers, width, inner = config.layers, config.hidden, config.mlp
    if name == "weights":
        return _fault_of_weights(part, model.params, "")
    if name == "shift":
        return _fault_of_shape(part, (layers, 1, 1, width))
    numbers = {"1": 1, "L": layers, "D": width, "F": inner, "E": inner + width}
    numbers |= {"K": config.kv_heads, "H": config.head_width}
    if name in MATRICES:
        kernel = model.params["layers"][block_of(name)][name]["kernel"]
        numbers |= dict(zip("IO", kernel.shape[1:], strict=True))
    wrong = _fault_of_arrays(part, KINDS[name], numbers)
    if not wrong and isinstance(part, Rows) and part.tokens.dtype.kind not in "iu":
        return f"has tokens of type {part.tokens.dtype}; they should be whole numbers"
    if not wrong and isinstance(part, Memory) and (part.order is not None or part.below is not None):
        return "has order or below, which edits that are carried are given here; leave them out"
    return wrong


def _fault_of_types(part: Any) -> str:
    """Whether all arrays of a part but those of INDICES are of real numbers."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(part):
        name, kind = jax.tree_util.keystr(path), np.result_type(leaf)
        if name.rpartition(".")[2] not in INDICES and not jax.numpy.issubdtype(kind, jax.numpy.floating):
            return f"has {name} of type {kind}; it should be of real numbers"
    return ""


def _fault_of_arrays(part: Any, kind: Any, numbers: dict[str, int]) -> str:
    """Whether a part is of a kind and its arrays have its sizes, where equal letters are equal numbers.

    Args:
        kind: named tuple whose `sizes` are in letters.
        numbers: what letters stand for; the others are free.
    """
    sizes = kind.sizes()
    if not isinstance(part, kind):
        return f"is {_kind_name(part)}; make it a {kind.__name__}({', '.join(sizes)})"
    free: dict[str, set[int]] = {}
    for field, size in sizes.items():
        below = getattr(part, field)
        if isinstance(size, str):
            letters = size.split()
            wrong = _fault_of_shape(below, tuple(map(numbers.get, letters)))
        else:
            letters, wrong = [], _fault_of_arrays(below, size, numbers)
        if wrong:
            return f".{field} {wrong}"
        for letter, count in zip(letters, np.shape(below), strict=False):
            free.setdefault(letter, set()).add(count)
    unequal = next((counts for counts in free.values() if len(counts) > 1), ())
    return f"has arrays of {' and '.join(map(str, sorted(unequal)))} entries" if unequal else ""


def _fault_of_shape(array: Any, size: tuple[int | None, ...]) -> str:
    shape = np.shape(array)
    if len(shape) == len(size) and all(want in (None, n) for n, want in zip(shape, size, strict=True)):
        return ""
    right_shape = ", ".join("any" if n is None else str(n) for n in size)
    return f"has shape {shape}; it should be ({right_shape})"


def _fault_of_weights(part: Any, params: Any, path: str) -> str:
    """Whether a tree is a part of the parameters' tree, array for array."""
    if not isinstance(params, dict):
        wrong = _fault_of_shape(part, np.shape(params))
        return f"{path} {wrong}" if wrong else ""
    if not isinstance(part, dict):
        return f"{path} is {_kind_name(part)}; make it a dict, a part of the parameters' tree"
    for name, below in part.items():
        if name not in params:
            return f"{path} has {name!r}, which parameters have not; they have {', '.join(params)}"
        wrong = _fault_of_weights(below, params[name], f"{path}[{name!r}]")
        if wrong:
            return wrong
    return ""


def _refuse(editor: Editor, what: str, why: str) -> None:
    raise InputError(f"editor {path_of(editor)}, in {what}: {why}")


def _kind_name(thing: Any) -> str:
    if isinstance(thing, tuple) and not hasattr(thing, "_fields"):
        return f"a tuple of {len(thing)}"
    name = type(thing).__name__
    return "an array" if isinstance(thing, jax.Array | jax.ShapeDtypeStruct) else f"a {name}"
