"""A method that was prepared for a model: requests in, deltas out, and what that costs."""

import time
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from corpus.seeds import integer
from lm.delta import Delta, add_to_carry, empty_carry
from lm.editors.interface import Editor, Info, Request, State, edit_batch, edit_once, trait_of
from lm.editors.strength import AtStrength
from lm.flops import count_flops
from lm.language_model import LanguageModel
from lm.mesh import over_data
from testbed.engine.checks import check_values, errors_attributed_to
from testbed.engine.methods import Method
from testbed.engine.questions import Questions
from testbed.engine.requests import Requests


class Edits(NamedTuple):
    """Some edits that were made side by side.

    Attributes:
        deltas: what each adds to the model or, in sequences, what each sequence carries by now.
        info: their reports.
        seconds: for each case.
    """

    deltas: Delta
    info: Info
    seconds: float


@partial(jax.jit, static_argnames="editor")
def next_edits(
    editor: Editor,
    model: LanguageModel,
    carried: Delta,
    state: State,
    batch: Request,
    keys: jax.Array,
    index: jax.Array,
) -> tuple[Delta, Info]:
    """The `index`-th edit of several sequences on top of what each carries; arrays lead with sequences."""

    def one(carried: Delta, request: Request, key: jax.Array) -> tuple[Delta, Info]:
        delta, info = editor.edit(model.with_delta(carried), state, request, key)
        return add_to_carry(carried, delta, model.vocabulary, index), info

    return jax.vmap(one)(carried, batch, keys)


SPLIT = {edit_batch: (False, False, True, True), next_edits: (False, True, False, True, True, False)}
"""Of the arguments of these functions, which lead with edits or sequences."""


class PreparedEditor:
    """A method that was prepared for a model.

    Cases are given as int[G, B]: G edits, made side by side, of B cases each.

    Args:
        state: what the editor prepared.
        requests: what it is told of the cases, by control.
        seed: root seed of the editor's randomness.
    """

    def __init__(
        self, questions: Questions, method: Method, state: State, requests: dict[str, Requests], seed: int
    ) -> None:
        self.questions, self.method, self.state, self.requests = questions, method, state, requests
        strength = method.strength
        self.editor = method.editor if strength is None else AtStrength(method.editor, strength)
        self.model = questions.model
        self._root = jax.random.key(integer(seed, "editor"))
        self._programs: dict[tuple, jax.stages.Compiled] = {}

    def edit(
        self, which: np.ndarray, control: str = "", carried: Delta | None = None, index: int = 0
    ) -> Edits:
        """Edits of the model as it is, or the next ones of sequences.

        Args:
            control: told in place of the request; "" for the request.
            carried: by sequences, see `carry_nothing`; None where edits are independent.
            index: how many edits of its sequence came before each.
        """
        model, *rest = self.arguments(which, control, narrow=carried is None)
        function, arguments = (
            (edit_batch, (model, *rest))
            if carried is None
            else (next_edits, (model, carried, *rest, np.int32(index)))
        )
        program = self._compiled_program(function, *arguments)
        began = time.perf_counter()
        with errors_attributed_to(self.method.editor, "edit"):
            deltas, info = jax.block_until_ready(program(*arguments))
        if carried is None:
            check_values(self.method.editor, self.model, deltas, info)
        return Edits(deltas, info, (time.perf_counter() - began) / which.size)

    def carry_nothing(self, which: np.ndarray, rounds: int) -> Delta:
        """What sequences carry before the first of their `rounds` edits: room for all of them."""
        no_delta = jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), self.delta_shapes(which))
        no_carry = empty_carry(no_delta, self.model.vocabulary, rounds)
        return jax.tree.map(lambda x: np.repeat(np.asarray(x)[None], len(which), axis=0), no_carry)

    def delta_shapes(self, which: np.ndarray) -> Delta:
        """Shapes and types of the delta of one edit."""
        return edit_once.eval_shape(self.editor, *self.arguments_of_first(which))[0]

    def flops_per_case(self, which: np.ndarray) -> float:
        """Arithmetic for each case of the first of these edits, as the program has it."""

        def delta_of_edit(*arguments: Any) -> Delta:
            return edit_once(self.editor, *arguments)[0]

        arguments = self.arguments_of_first(which, narrow=True)
        turns = trait_of(self.editor, "most_steps")
        return count_flops(delta_of_edit, *arguments, turns=turns) / which.shape[1]

    def bytes_per_case(self, which: np.ndarray, narrow: bool = True) -> float:
        """Memory for each case of these edits side by side, as they were compiled; nan where nobody knows."""
        arguments = self.arguments(which, narrow=narrow)
        memory = self._compiled_program(edit_batch, *arguments).memory_analysis()
        peak = memory.temp_size_in_bytes + memory.output_size_in_bytes if memory else float("nan")
        # What was compiled is what one device does.
        return peak * self.questions.mesh.size / which.size

    def bytes_compiled(self, abreast: int) -> float:
        """What an edit of one case takes, compiled for so many side by side; nan where nobody knows."""
        which = np.arange(abreast)[:, None] % len(self.questions.cases)
        return self.bytes_per_case(which, narrow=False)

    def arguments(
        self, which: np.ndarray, control: str = "", narrow: bool = False
    ) -> tuple[LanguageModel, State, Request, jax.Array]:
        """Model, state, requests, and one key for each edit, named after its first case.

        Args:
            narrow: see `Requests.of_edits`.
        """
        keys = jax.vmap(lambda case: jax.random.fold_in(self._root, case))(which[:, 0])
        return self.model, self.state, self.requests[control].of_edits(which, narrow), keys

    def arguments_of_first(self, which: np.ndarray, narrow: bool = False) -> tuple:
        """The same for the first edit alone, without a leading axis."""
        model, state, batch, keys = self.arguments(which[:1], narrow=narrow)
        return model, state, jax.tree.map(lambda x: x[0], batch), keys[0]

    def _compiled_program(self, function: Any, *arguments: object) -> jax.stages.Compiled:
        """The compiled function; compiled apart, so that no edit's time contains it."""
        shapes = next((x.prompt.shape, x.answer.shape) for x in arguments if isinstance(x, Request))
        key = function, *shapes
        if key not in self._programs:
            if self.questions.mesh.size == 1:
                lowered = function.lower(self.editor, *arguments)
            else:
                one, split = partial(function, self.editor), SPLIT[function]
                lowered = over_data(self.questions.mesh, one, split).lower(*arguments)
            self._programs[key] = lowered.compile()
        return self._programs[key]
