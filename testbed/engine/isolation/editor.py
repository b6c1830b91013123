"""An editor whose work is done in another process, which sees nothing but what it is asked."""

from dataclasses import asdict, dataclass, field
from typing import Any

import jax
import numpy as np

from corpus.errors import InputError
from lm.delta import Delta
from lm.editors.interface import CorpusSample, Editor, Info, Request, State
from lm.language_model import LanguageModel
from testbed.engine.isolation.process import EditorProcess
from testbed.engine.methods import Method, the_request
from testbed.run.settings import as_plain_data


def build_method(likeness: Any, *_: Any) -> Method:
    """The method of an isolated editor, which needs neither other settings nor the world.

    Args:
        likeness: its settings, as `describe_isolated` has them.
    """
    from testbed.engine.isolation import process_of

    editor = IsolatedEditor(likeness, process_of(likeness.address))
    return Method(editor, the_request, author=likeness)


@dataclass(frozen=True, eq=False)
class IsolatedEditor(Editor):
    """An editor in another process.

    Attributes:
        user_editor: its settings.
        failures: what went wrong inside compiled programs, the latest last.
        shapes: what its process said of edits of some shapes, by these.
    """

    user_editor: Any
    process: EditorProcess
    failures: list[Exception] = field(default_factory=list)
    shapes: dict[str, dict[str, Any]] = field(default_factory=dict)

    def prepare(self, model: LanguageModel, corpus_sample: CorpusSample) -> State:
        """The arrays of what the editor prepared, to be compared; it keeps its state itself.

        Raises:
            InputError: it fails, or its process has ended.
        """
        self.shapes.clear()
        model_parts = {"config": as_plain_data(model.config), "params": model.params}
        return self._ask("prepare", **model_parts, sample=corpus_sample)["state"]

    def edit(
        self,
        model: LanguageModel,
        state: State,  # noqa: ARG002
        request: Request,
        key: jax.Array,
    ) -> tuple[Delta, Info]:
        """What the editor returns, computed in its process whenever the program runs.

        Raises:
            InputError: it returns something of a wrong form.
        """
        carried = model.delta or {}
        shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), (carried, request))
        if str(shapes) not in self.shapes:
            self.shapes[str(shapes)] = self._ask("shapes", arguments=shapes)
        returned = self.shapes[str(shapes)]["edit"]
        return jax.pure_callback(
            self._call_back,
            returned,
            carried,
            request,
            jax.random.key_data(key),
            vmap_method="broadcast_all",
        )

    def is_traced_alike(self) -> bool:
        """Whether an edit is the same program each time its process traces it."""
        return all(said["is_traced_alike"] for said in self.shapes.values())

    def _call_back(self, *arguments: Any) -> Any:
        try:
            return self._ask("edit", arguments=jax.tree.map(np.asarray, arguments))["edit"]
        except InputError as error:
            self.failures.append(error)
            raise

    def _ask(self, what: str, **question: Any) -> dict[str, Any]:
        return self.process.ask(what, settings=asdict(self.user_editor), **question)
