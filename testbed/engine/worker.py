"""One method at work on the cases of a sweep: requests in, deltas out, and what that costs."""

import time
from collections.abc import Sequence
from functools import partial

import jax
import numpy as np

from corpus.seeds import integer
from lm.delta import Delta, add_to_carry, empty_carry
from lm.editors.interface import (
    Editor,
    Info,
    Request,
    State,
    edit_batch,
    edit_once,
    group_requests,
    make_requests,
)
from lm.editors.strength import AtStrength
from lm.flops import count_flops
from lm.language_model import LanguageModel
from lm.mesh import over_data
from testbed.engine.checks import check_edit, errors_attributed_to
from testbed.engine.methods import Belief, Method
from testbed.engine.questions import Questions
from testbed.engine.widths import lengths_of, narrowest_width, widths_for
from testbed.protocol import Case

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

    Cases are given as int[G, B]: G edits, made side by side, of B cases each.

    Args:
        state: what the editor prepared.
        seed: root seed of the editor's randomness.

    Where a call takes `told`, the name of a control, the editor is told the control's fact in place of the
    request.
    """

    def __init__(self, questions: Questions, method: Method, state: State, seed: int) -> None:
        self.questions, self.method, self.state = questions, method, state
        strength = method.strength
        self.editor = method.editor if strength is None else AtStrength(method.editor, strength)
        self.model = questions.model
        self._root = jax.random.key(integer(seed, "editor"))
        told = [method.facts_told(case) for case in questions.cases]
        self._facts = max(map(len, told))
        tokenizer, facts = questions.tokenizer, [[belief.fact for belief in beliefs] for beliefs in told]
        self._widths = widths_for(np.array([lengths_of(tokenizer, some) for some in facts]))
        controls = [control.fact for case in questions.cases for control in case.controls]
        self._widths[-1] = np.maximum(self._widths[-1], lengths_of(tokenizer, controls))
        self._programs: dict[tuple, jax.stages.Compiled] = {}

    def edit_independently(self, which: np.ndarray, control: str = "") -> tuple[Delta, Info, float]:
        """Edits of the model as it is; their deltas and reports, and seconds for each case."""
        return self._run_timed(
            "independent", edit_batch, which, *self._edit_arguments(which, control, self._widths)
        )

    def edit_in_sequence(self, carried: Delta, which: np.ndarray, index: int) -> tuple[Delta, Info, float]:
        """The `index`-th edits of sequences that carry their earlier ones; what they carry then."""
        asked = self._edit_arguments(which)
        arguments = (asked[0], carried, *asked[1:], np.int32(index))
        return self._run_timed("following", next_edits, which, *arguments)

    def empty_deltas(self, which: np.ndarray, rounds: int) -> Delta:
        """What sequences carry before the first of their `rounds` edits: room for all of them."""
        nothing = jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), self.delta_shapes(which))
        empty = empty_carry(nothing, self.model.vocabulary, rounds)
        return jax.tree.map(lambda x: np.repeat(np.asarray(x)[None], len(which), axis=0), empty)

    def check_editor(self, which: np.ndarray) -> None:
        """Look at what the editor returns for an edit, before any is made.

        Raises:
            InputError: it is of a wrong form, or the editor of a user raises something.
        """
        with errors_attributed_to(self.editor, "edit"):
            returned = edit_once.eval_shape(self.editor, *self._single_edit_arguments(which))
        check_edit(self.editor, self.model, returned)

    def delta_shapes(self, which: np.ndarray) -> Delta:
        """Shapes and types of the delta of one edit."""
        return edit_once.eval_shape(self.editor, *self._single_edit_arguments(which))[0]

    def carried_shapes(self, which: np.ndarray, rounds: int) -> Delta:
        """Shapes and types of what a sequence of `rounds` edits carries."""
        return jax.eval_shape(
            lambda delta: empty_carry(delta, self.model.vocabulary, rounds), self.delta_shapes(which)
        )

    def cost_per_case(self, which: np.ndarray) -> dict[str, float]:
        """What each of these cases takes: arithmetic as the program has it, and memory as it was compiled."""
        peak = self._peak_bytes(which, self._widths) / which.size
        return {"flops": self.flops_per_case(which), "peak_bytes": peak}

    def bytes_compiled(self, abreast: int) -> float:
        """What an edit of one case takes, compiled for so many side by side; nan where nobody knows."""
        which = np.arange(abreast)[:, None] % len(self.questions.cases)
        return self._peak_bytes(which) / abreast

    def _peak_bytes(self, which: np.ndarray, widths: Sequence[np.ndarray] | None = None) -> float:
        asked = self._edit_arguments(which, widths=widths)
        memory = self._compiled_program("independent", edit_batch, *asked).memory_analysis()
        peak = memory.temp_size_in_bytes + memory.output_size_in_bytes if memory else float("nan")
        # What was compiled is what one device does.
        return peak * self.questions.mesh.size

    def flops_per_case(self, which: np.ndarray) -> float:
        """Arithmetic for each case of the first of these edits, as the program has it."""
        turns = getattr(self.editor, "most_steps", 1)
        return (
            count_flops(self._one, *self._single_edit_arguments(which, self._widths), turns=turns)
            / which.shape[1]
        )

    def _one(self, model: LanguageModel, state: State, request: Request, key: jax.Array) -> Delta:
        return edit_once(self.editor, model, state, request, key)[0]

    def facts_per_edit(self, size: int) -> int:
        """How many facts an edit of so many cases is told."""
        return size * self._facts

    def _edit_arguments(
        self, which: np.ndarray, control: str = "", widths: Sequence[np.ndarray] | None = None
    ) -> tuple[LanguageModel, State, Request, jax.Array]:
        """Model, state, requests, and one key for each edit, named after its first case.

        Args:
            widths: that the requests may be padded to; without them the largest, so that all have one shape.
        """
        keys = jax.vmap(lambda case: jax.random.fold_in(self._root, case))(which[:, 0])
        return self.model, self.state, self._requests(which, control, widths or self._widths[-1:]), keys

    def _single_edit_arguments(self, which: np.ndarray, widths: Sequence[np.ndarray] | None = None) -> tuple:
        model, state, batch, keys = self._edit_arguments(which[:1], widths=widths)
        return model, state, jax.tree.map(lambda x: x[0], batch), keys[0]

    def _requests(self, which: np.ndarray, control: str, widths: Sequence[np.ndarray]) -> Request:
        facts, picked = self._facts, [self.questions.cases[k] for k in which.ravel()]
        beliefs = [belief for case in picked for belief in self._told_beliefs(case, control)]
        said = [belief.fact for belief in beliefs]
        batch = make_requests(
            self.questions.tokenizer,
            said,
            [belief.weight for belief in beliefs],
            [belief.credence for belief in beliefs],
            *narrowest_width(widths, lengths_of(self.questions.tokenizer, said)).tolist(),
        )
        return group_requests(batch, which.shape[1] * facts)

    def _told_beliefs(self, case: Case, control: str) -> list[Belief]:
        """As many facts for every case; where there are fewer, the first again, not to be believed."""
        beliefs = self.method.facts_told(case)
        instead = [c.fact for c in case.controls if control and c.name == control]
        if instead:
            beliefs = [Belief(instead[0], case.credence, beliefs[0].weight)]
        return [*beliefs, *[Belief(beliefs[0].fact, 0.0)] * (self._facts - len(beliefs))]

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
        deltas, info = jax.block_until_ready(program(*arguments))
        return deltas, info, (time.perf_counter() - began) / which.size
