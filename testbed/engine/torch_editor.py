"""A user's editor in PyTorch as an ordinary one: weights go out, and come back edited (docs/pytorch.md).

    def edit(model, tokenizer, request):
        ...
        return model            the one that was given, edited in place, or another of its kind

Every edit gets a model of its own, made of the weights that it builds on, and generators of random numbers
that are seeded for it. What comes back is held against its own weights: where it answers otherwise than they
do (a wrapper, a hook, a prefix), or where edits depend on each other, it is refused. An editor that is named
on a command line works in a process of its own (`testbed.engine.isolation`), a function that Python hands
over in this one.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from corpus.errors import InputError
from corpus.text.tokenizer import tokenizer_files
from lm.delta import Delta, add_changes
from lm.editors.interface import CorpusSample, Editor, Info, Request, State
from lm.huggingface import name_tensors, stack_tensors
from lm.language_model import LanguageModel
from lm.model import Params
from testbed.engine.file_exchange.requests import read_request
from testbed.engine.methods import Method, the_request
from testbed.engine.versions import path_of
from testbed.run.world import World

if TYPE_CHECKING:
    from testbed.settings import EditSettings

AT_ONCE = 16
"""Edits of a chunk: what a kill loses of a slow editor."""
TRIED = 2
"""Practice edits that show whether an editor can be taken at its weights."""
LARGEST_SEED = 2**31 - 1


def build_method(user_editor: Any, settings: "EditSettings", world: World) -> Method:
    """A user's function or object with `edit(model, tokenizer, request)` as a method.

    Raises:
        InputError: PyTorch or transformers is not installed.
    """
    require_torch(path_of(user_editor))
    reader = partial(read_request, world)
    editor = TorchEditor(user_editor, tokenizer_files(world.tokenizer), reader, settings.sequence == 1)
    return Method(editor, the_request, most=AT_ONCE, author=user_editor)


def require_torch(editor: str) -> tuple[ModuleType, ModuleType]:
    """What needs PyTorch and transformers: the door's module, and that of models.

    Raises:
        InputError: one of them is not installed.
    """
    try:
        from testbed.engine import torch_models
        from testbed.engine.file_exchange import door
    except ImportError as error:
        raise InputError(f"{editor} needs PyTorch ({error}); pip install '.[torch]'") from None
    return door, torch_models


@dataclass(frozen=True, eq=False)
class TorchEditor(Editor):
    """An editor whose edits are made by PyTorch, and come to a change of any of the model's weights."""

    user_editor: Any
    tokenizer_files: dict[str, Any]
    read_fact: Callable[[np.ndarray, np.ndarray, float], dict[str, Any]]
    """What a prompt and an answer with a credence say, as the editor is told it."""
    may_fail: bool = False
    """An edit in which the user's code raises an error comes to no numbers; else the error is raised, as in
    sequences, where others would build on it."""
    causes: dict[str, str] = field(default_factory=dict)
    """Why edits failed, by their facts as sentences."""
    failures: list[Exception] = field(default_factory=list)
    """What went wrong inside compiled programs, the latest last."""

    def prepare(self, model: LanguageModel, corpus_sample: CorpusSample) -> State:
        """Nothing; but a few practice edits show whether this editor can be taken at its weights.

        Raises:
            InputError: it is refused; says why, and what to do.
        """
        params = jax.device_get(model.params)

        def change_of(index: int, padding: str) -> np.ndarray:
            one = jax.tree.map(lambda x: np.asarray(x)[index], corpus_sample.practice)
            change = self._change_weights(model.config, padding, params, {}, one, np.array(0))
            return np.concatenate([leaf.ravel() for leaf in jax.tree.leaves(change)])

        door, _ = require_torch(path_of(self.user_editor))
        try:
            door.check_edits_apart(lambda index: change_of(index, self._padding))
            if not hasattr(self.user_editor, "PADDING"):
                door.check_padding(lambda padding: change_of(0, padding))
        except door.DoorError as error:
            raise InputError(f"editor {path_of(self.user_editor)}: {error}") from None
        return {}

    def edit(
        self, model: LanguageModel, state: State, request: Request, key: jax.Array
    ) -> tuple[Delta, Info]:
        """The change of the weights. What it cost PyTorch nobody counts.

        Raises:
            InputError: the model carries an edit that is no change of weights.
        """
        carried = model.delta or {}
        if carried.keys() - {"weights"}:
            raise InputError(
                f"{path_of(self.user_editor)} edits weights, and the model carries an edit that is none"
            )
        shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, jnp.float32), model.params)
        seed = jax.random.randint(key, (), 0, LARGEST_SEED)
        change = jax.pure_callback(
            partial(self._call_back, model.config),
            shapes,
            model.params,
            carried.get("weights", {}),
            request,
            seed,
            vmap_method="sequential",
        )
        nothing = jnp.int32(0)
        return {"weights": change}, Info(jnp.full(1, jnp.nan), nothing, nothing, nothing)

    def _call_back(self, *arguments: Any) -> Params:
        """What a compiled program calls; remembers what goes wrong, of which the program keeps only words."""
        try:
            return self._change_weights(arguments[0], self._padding, *arguments[1:])
        except Exception as error:
            self.failures.append(error)
            if isinstance(error, InputError) or not self.may_fail:
                raise
            _, params, _, request, _ = arguments
            self.causes[self._key_of(request)] = f"{type(error).__name__}: {error}"
            return jax.tree.map(lambda x: np.full(x.shape, np.nan, np.float32), params)

    def cause_of(self, request: Request) -> str:
        """Why the edit of a request failed; empty where it did not."""
        return self.causes.get(self._key_of(request), "")

    def _key_of(self, request: Request) -> str:
        return sentences_of_facts(self._read_facts(request))

    def _read_facts(self, request: Request) -> list[dict[str, Any]]:
        return [self.read_fact(*fact) for fact in list_facts(request)]

    @property
    def _padding(self) -> str:
        return getattr(self.user_editor, "PADDING", "left")

    def _change_weights(
        self, config: Any, padding: str, params: Params, carried: Params, request: Request, seed: np.ndarray
    ) -> Params:
        """What one edit adds to parameters with what they carry already."""
        name = path_of(self.user_editor)
        door, models = require_torch(name)
        params, carried, request = jax.tree.map(np.asarray, (params, carried, request))
        weights = add_changes(params, carried)
        files = json.dumps(self.tokenizer_files, ensure_ascii=False)
        build_model, tokenizer = models.load_skeleton(config, len(params["embedding"]), files)
        tokenizer.padding_side = padding
        requests = self._read_facts(request)
        tensor_by_name = dict(name_tensors(config, weights))
        tokenizer.request = requests
        edited = door.call_editor(
            self.user_editor,
            build_model(tensor_by_name),
            tokenizer,
            requests if requests[1:] else requests[0],
            int(seed),
        )
        tensors = models.read_weights(edited, tensor_by_name, name)
        models.check_answers(edited, build_model(tensors), requests[0], name)
        after = stack_tensors(config, tensors.__getitem__)
        return jax.tree.map(lambda new, old: new - old, after, weights)


def list_facts(request: Request) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Prompt, answer and credence of every fact of one edit, or of several after one another."""
    prompt, answer = (np.asarray(x).reshape(-1, np.shape(x)[-1]) for x in (request.prompt, request.answer))
    return list(zip(prompt, answer, np.ravel(request.credence).tolist(), strict=True))


def sentences_of_facts(facts: Sequence[dict[str, Any]]) -> str:
    """By which the cause of a failed edit is found."""
    return "\n".join(fact["sentence"] for fact in facts)
