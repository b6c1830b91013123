"""What every editor's cases are asked, and what the unedited model answers."""

from collections.abc import Sequence

import numpy as np

from lm.delta import Delta
from lm.language_model import LanguageModel
from testbed.engine.probes import Probes, Readings, build_probes, probe_shape, read, truth_words
from testbed.protocol import Case
from testbed.run.object_names import ObjectNames
from testbed.run.world import World


class Questions:
    """The questions of some cases to one model; all editors of a command share them.

    Args:
        model: as it is before any edit.
    """

    def __init__(self, world: World, model: LanguageModel, cases: Sequence[Case]) -> None:
        self.tokenizer, self.model, self.cases = world.tokenizer, model, cases
        inverse = {i for i, way in enumerate(world.graph.phrasings, start=1) if way.inverse}
        inversely = [c.options for case in cases for c in case.choices if c.phrasing in inverse]
        said = np.unique(np.concatenate([world.graph.objects, *inversely]))
        self.names = ObjectNames(world.tokenizer, said)
        self.shape = probe_shape(world.tokenizer, cases)
        self.words = truth_words(world.tokenizer)
        self._before: dict[bytes, Readings] = {}

    def after(self, deltas: Delta, which: np.ndarray) -> Readings:
        """Answers of edited models, one line for each case in their order.

        Args:
            deltas: leaves lead with edits G.
            which: int[G, B], the cases that are asked under each edit.
        """
        probes = self.probes(which)
        return self.shape.by_case(read(self.model, deltas, probes, self.words, self.names.longest))

    def before(self, which: np.ndarray) -> Readings:
        """Answers of the unedited model; kept, since every editor is compared with them."""
        key = which.tobytes()
        if key not in self._before:
            self._before[key] = self.after({}, which)
        return self._before[key]

    def probes(self, which: np.ndarray) -> Probes:
        """Those of int[G, B] cases, the B of one edit together."""
        picked = [self.cases[k] for k in which.ravel()]
        return build_probes(self.tokenizer, picked, self.shape).grouped(which.shape[1])
