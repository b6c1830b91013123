"""One method at work on the cases of a sweep: requests in, deltas out, and what that costs."""

import time
from functools import partial
from typing import Any

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
from testbed.engine.integrity import is_traced_alike
from testbed.engine.isolation.editor import IsolatedEditor
from testbed.engine.methods import Method
from testbed.engine.questions import Questions
from testbed.engine.requests import Requests

SPLIT = {
    "independent": (False, False, True, True),
    "following": (False, True, False, True, True, False),
}
"""Of the arguments of `edit_batch` and `next_edits`, which lead with edits or sequences."""


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


class Worker:
    """A method that was prepared for a model.

    Cases are given as int[G, B]: G edits, made side by side, of B cases each. Where a call takes `control`,
    the editor is told that control's fact in place of the request.

    Args:
        state: what the editor prepared.
        requests: what it is told of the cases, by control.
        seed: root seed of the editor's randomness.
    """

    def __init__(
        self,
        questions: Questions,
        method: Method,
        state: State,
        requests: dict[str, Requests],
        seed: int,
    ) -> None:
        self.questions, self.method, self.state, self.requests = questions, method, state, requests
        strength = method.strength
        self.editor = method.editor if strength is None else AtStrength(method.editor, strength)
        self.model = questions.model
        self._root = jax.random.key(integer(seed, "editor"))
        self._programs: dict[tuple, jax.stages.Compiled] = {}

    def edit_independently(self, which: np.ndarray, control: str = "") -> tuple[Delta, Info, float]:
        """Edits of the model as it is; their deltas and reports, and seconds for each case."""
        arguments = self._edit_arguments(which, control, narrow=True)
        return self._run_timed("independent", edit_batch, which, *arguments)

    def edit_in_sequence(self, carried: Delta, which: np.ndarray, index: int) -> tuple[Delta, Info, float]:
        """The `index`-th edits of sequences that carry their earlier ones; what they carry then."""
        model, *arguments = self._edit_arguments(which)
        return self._run_timed("following", next_edits, which, model, carried, *arguments, np.int32(index))

    def empty_deltas(self, which: np.ndarray, rounds: int) -> Delta:
        """What sequences carry before the first of their `rounds` edits: room for all of them."""
        no_delta = jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), self.delta_shapes(which))
        no_carry = empty_carry(no_delta, self.model.vocabulary, rounds)
        return jax.tree.map(lambda x: np.repeat(np.asarray(x)[None], len(which), axis=0), no_carry)

    def estimate_edit(self, which: np.ndarray, rounds: int) -> tuple[list[Delta], float]:
        """What an edit takes, before anything is compiled.

        Args:
            rounds: edits of a sequence.

        Returns:
            Shapes and types of what the edit adds to the model, and of what a sequence of several carries;
            and arithmetic for a case.
        """
        shapes = [self.delta_shapes(which)]
        if rounds > 1:
            vocabulary = self.model.vocabulary
            shapes.append(jax.eval_shape(lambda delta: empty_carry(delta, vocabulary, rounds), shapes[0]))
        return shapes, self.flops_per_case(which)

    def delta_shapes(self, which: np.ndarray) -> Delta:
        """Shapes and types of the delta of one edit."""
        return edit_once.eval_shape(self.editor, *self._single_edit_arguments(which))[0]

    def is_traced_alike(self, which: np.ndarray) -> bool:
        """Whether the first of these edits is the same program each time it is traced."""
        if isinstance(self.method.editor, IsolatedEditor):
            return self.method.editor.is_traced_alike()
        return is_traced_alike(self.editor, *self._single_edit_arguments(which))

    def cost_per_case(self, which: np.ndarray) -> dict[str, float]:
        """What each of these cases takes: arithmetic as the program has it, and memory as it was compiled."""
        return {
            "flops": self.flops_per_case(which),
            "peak_bytes": self._peak_bytes(which, narrow=True) / which.size,
        }

    def bytes_compiled(self, abreast: int) -> float:
        """What an edit of one case takes, compiled for so many side by side; nan where nobody knows."""
        which = np.arange(abreast)[:, None] % len(self.questions.cases)
        return self._peak_bytes(which) / abreast

    def _peak_bytes(self, which: np.ndarray, narrow: bool = False) -> float:
        arguments = self._edit_arguments(which, narrow=narrow)
        memory = self._compiled_program("independent", edit_batch, *arguments).memory_analysis()
        peak = memory.temp_size_in_bytes + memory.output_size_in_bytes if memory else float("nan")
        # What was compiled is what one device does.
        return peak * self.questions.mesh.size

    def flops_per_case(self, which: np.ndarray) -> float:
        """Arithmetic for each case of the first of these edits, as the program has it."""

        def delta_of_edit(*arguments: Any) -> Delta:
            return edit_once(self.editor, *arguments)[0]

        arguments = self._single_edit_arguments(which, narrow=True)
        turns = trait_of(self.editor, "most_steps")
        return count_flops(delta_of_edit, *arguments, turns=turns) / which.shape[1]

    def _edit_arguments(
        self, which: np.ndarray, control: str = "", narrow: bool = False
    ) -> tuple[LanguageModel, State, Request, jax.Array]:
        """Model, state, requests, and one key for each edit, named after its first case."""
        keys = jax.vmap(lambda case: jax.random.fold_in(self._root, case))(which[:, 0])
        return self.model, self.state, self.requests[control].of_edits(which, narrow), keys

    def _single_edit_arguments(self, which: np.ndarray, narrow: bool = False) -> tuple:
        model, state, batch, keys = self._edit_arguments(which[:1], narrow=narrow)
        return model, state, jax.tree.map(lambda x: x[0], batch), keys[0]

    def _compiled_program(
        self, name: str, function: jax.stages.Wrapped, *arguments: object
    ) -> jax.stages.Compiled:
        """The compiled function; compiled apart, so that no edit's time contains it."""
        shapes = next((x.prompt.shape, x.answer.shape) for x in arguments if isinstance(x, Request))
        key = name, *shapes
        if key not in self._programs:
            if self.questions.mesh.size == 1:
                lowered = function.lower(self.editor, *arguments)
            else:
                one = partial(function, self.editor)
                lowered = over_data(self.questions.mesh, one, SPLIT[name]).lower(*arguments)
            self._programs[key] = lowered.compile()
        return self._programs[key]

    def _run_timed(
        self, name: str, function: jax.stages.Wrapped, which: np.ndarray, *arguments: object
    ) -> tuple[Delta, Info, float]:
        program = self._compiled_program(name, function, *arguments)
        began = time.perf_counter()
        with errors_attributed_to(self.method.editor, "edit"):
            deltas, info = jax.block_until_ready(program(*arguments))
        if name == "independent":
            check_values(self.method.editor, self.model, deltas, info)
        return deltas, info, (time.perf_counter() - began) / which.size
