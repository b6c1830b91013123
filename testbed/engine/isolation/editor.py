"""An editor whose work is done in another process, which sees nothing but what it is asked."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from corpus.errors import InputError
from corpus.text.tokenizer import tokenizer_files
from lm.delta import Delta
from lm.editors.interface import CorpusSample, Editor, Info, Request, State
from lm.language_model import LanguageModel
from testbed.engine.file_exchange.requests import read_request
from testbed.engine.isolation.process import EditorProcess
from testbed.engine.methods import Method, the_request
from testbed.engine.torch_editor import AT_ONCE, TRIED, list_facts, sentences_of_facts
from testbed.run.settings import as_plain_data
from testbed.run.world import World

if TYPE_CHECKING:
    from testbed.settings import EditSettings


def build_method(likeness: Any, settings: "EditSettings", world: World) -> Method:
    """The method of an editor in another process.

    Args:
        likeness: its settings, as `describe_isolated` has them.
        world: only one in PyTorch is told of it, and nothing but its tokenizer and what requests say.
    """
    from testbed.engine.isolation import process_of

    process = process_of(likeness.address)
    if not likeness.is_torch:
        return Method(IsolatedEditor(likeness, process), the_request, author=likeness)
    told = {"tokenizer_files": tokenizer_files(world.tokenizer), "may_fail": settings.sequence == 1}
    editor = IsolatedEditor(likeness, process, told, partial(read_request, world))
    return Method(editor, the_request, most=AT_ONCE, author=likeness)


@dataclass(frozen=True, eq=False)
class IsolatedEditor(Editor):
    """An editor in another process.

    Attributes:
        user_editor: its settings.
        told: what one in PyTorch needs besides.
        read_fact: what a prompt and an answer with a credence say, as such an editor is told it; None of one
            in JAX, which reads tokens.
        causes: why edits failed, by their facts as sentences.
        failures: what went wrong inside compiled programs, the latest last.
        shapes: what its process said of edits of some shapes, by these.
    """

    user_editor: Any
    process: EditorProcess
    told: dict[str, Any] = field(default_factory=dict)
    read_fact: Callable[[np.ndarray, np.ndarray, float], dict[str, Any]] | None = None
    causes: dict[str, str] = field(default_factory=dict)
    failures: list[Exception] = field(default_factory=list)
    shapes: dict[str, dict[str, Any]] = field(default_factory=dict)

    def prepare(self, model: LanguageModel, corpus_sample: CorpusSample) -> State:
        """The arrays of what the editor prepared, to be compared; it keeps its state itself.

        Raises:
            InputError: it fails, or its process has ended.
        """
        self.shapes.clear()
        model_parts = {"config": as_plain_data(model.config), "params": model.params}
        practice = jax.tree.map(lambda x: np.asarray(x)[:TRIED], corpus_sample.practice)
        facts = self._describe_facts(practice)
        return self._ask("prepare", **model_parts, **self.told, sample=corpus_sample, facts=facts)["state"]

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
            self._call_back, returned, carried, request, jax.random.key_data(key), vmap_method="broadcast_all"
        )

    def is_traced_alike(self) -> bool:
        """Whether an edit is the same program each time its process traces it."""
        return all(said["is_traced_alike"] for said in self.shapes.values())

    def cause_of(self, request: Request) -> str:
        """Why the edit of a request failed; empty where it did not."""
        return self.causes.get(sentences_of_facts(self._describe_facts(request)), "")

    def _describe_facts(self, request: Request) -> list[dict[str, Any]]:
        return [self.read_fact(*fact) for fact in list_facts(request)] if self.read_fact else []

    def _call_back(self, *arguments: Any) -> Any:
        arguments = jax.tree.map(np.asarray, arguments)
        try:
            answer = self._ask("edit", arguments=arguments, facts=self._describe_facts(arguments[1]))
        except InputError as error:
            self.failures.append(error)
            raise
        self.causes.update(answer["causes"])
        return answer["edit"]

    def _ask(self, what: str, **question: Any) -> dict[str, Any]:
        return self.process.ask(what, settings=asdict(self.user_editor), **question)
