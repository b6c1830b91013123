"""What every editor's cases are asked, and what the unedited model answers."""

import os
from collections.abc import Callable, Sequence
from functools import cached_property, partial

import jax
import numpy as np
from jax.sharding import Mesh

from corpus.seeds import integer
from corpus.text.reading import Reader
from lm.config import MeshConfig
from lm.delta import Delta
from lm.language_model import LanguageModel
from lm.mesh import make_mesh, over_data, replicate
from testbed.engine.cores import over_cores
from testbed.engine.packing import pack_case
from testbed.engine.passages import Texts, build_openings, text_shape, write_texts
from testbed.engine.probes import ModelAnswers, Probes, answer_probes, build_probes, probe_shape, truth_words
from testbed.engine.widths import lengths_of
from testbed.protocol import Case
from testbed.run.object_names import ObjectNames
from testbed.run.world import World


class Questions:
    """The questions of some cases to one model; all editors of a command share them.

    Args:
        model: as it is before any edit.
        seed: root seed of what it writes.
        mesh: whose axis "data" edited models are laid over; without it, one device.
    """

    def __init__(
        self,
        world: World,
        model: LanguageModel,
        cases: Sequence[Case],
        seed: int = 0,
        mesh: Mesh | None = None,
    ) -> None:
        self.mesh = mesh or make_mesh(MeshConfig())
        self.tokenizer, self.cases = world.tokenizer, cases
        self.model = replicate(self.mesh, model)
        inverse = {i for i, way in enumerate(world.graph.phrasings, start=1) if way.inverse}
        inversely = [c.options for case in cases for c in case.choices if c.phrasing in inverse]
        answerable = np.unique(np.concatenate([world.graph.objects, *inversely]))
        self.names = ObjectNames(world.tokenizer, answerable)
        packed = [pack_case(world.tokenizer, case) for case in cases]
        self.shape = probe_shape(world.tokenizer, cases, packed)
        self._probes = build_probes(packed, self.shape)
        self.text_shape, self._seed = text_shape(cases), integer(seed, "passages")
        self.words = truth_words(world.tokenizer)
        self.reader = Reader(world.graph, world.tokenizer.language)
        self._before: dict[bytes, ModelAnswers] = {}
        self._written_before: dict[bytes, Texts] = {}

    @cached_property
    def shortest_first(self) -> list[int]:
        """The cases by the length of their requests, so that those made together need little padding."""
        tokens = [lengths_of(self.tokenizer, [case.requested_fact]).sum() for case in self.cases]
        return np.argsort(tokens, kind="stable").tolist()

    def answers_after(self, deltas: Delta, which: np.ndarray) -> ModelAnswers:
        """Answers of edited models, one line for each case in their order.

        Args:
            deltas: leaves lead with edits G.
            which: int[G, B], the cases that are asked under each edit.
        """
        probes = self.probes_of(which)
        readings = self._answer_probes(self.model, deltas, probes)
        return ModelAnswers(*(np.asarray(x).reshape(-1, *x.shape[2:]) for x in readings))

    @cached_property
    def _answer_probes(self) -> Callable[..., ModelAnswers]:
        return self._over_mesh(partial(answer_probes, words=self.words, longest=self.names.longest))

    @cached_property
    def _write_texts(self) -> Callable[..., Texts]:
        longest, most_k = self.text_shape.longest, self.text_shape.most_k
        if self.mesh.size == 1 and jax.default_backend() == "cpu":
            return over_cores(write_texts, os.cpu_count() or 1, longest=longest, most_k=most_k)
        return self._over_mesh(partial(write_texts, longest=longest, most_k=most_k))

    def _over_mesh(self, function: Callable) -> Callable:
        """What takes the model, deltas and what is asked, laid over devices."""
        return function if self.mesh.size == 1 else over_data(self.mesh, function, (False, True, True))

    def answers_before(self, which: np.ndarray) -> ModelAnswers:
        """Answers of the unedited model; kept, since every editor is compared with them."""
        key = which.tobytes()
        if key not in self._before:
            self._before[key] = self.answers_after({}, which)
        return self._before[key]

    def texts_after(self, deltas: Delta, which: np.ndarray) -> Texts:
        """What edited models write, one line for each case in their order; arguments as for `after`."""
        rows, size = which.size, which.shape[1]
        if not self.text_shape.texts:
            return Texts(np.zeros((rows, 0, 0), np.int32), np.zeros((rows, 0), np.float32))
        picked = [self.cases[k] for k in which.ravel()]
        openings = build_openings(picked, which.ravel().tolist(), self._seed, self.text_shape)
        grouped = jax.tree.map(lambda x: x.reshape(-1, size * x.shape[1], *x.shape[2:]), openings)
        texts = self._write_texts(self.model, deltas, grouped)
        return Texts(*(np.asarray(x).reshape(rows, self.text_shape.texts, *x.shape[2:]) for x in texts))

    def texts_before(self, which: np.ndarray) -> Texts:
        """What the unedited model writes; kept, as its answers are."""
        key = which.tobytes()
        if key not in self._written_before:
            self._written_before[key] = self.texts_after({}, which)
        return self._written_before[key]

    def probes_of(self, which: np.ndarray) -> Probes:
        """Those of int[G, B] cases."""
        return jax.tree.map(lambda x: x[which], self._probes)
