"""A sweep: many independent edits in batches, each scored before and after, resumable part by part."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import jax
import numpy as np

from corpus.seeds import integer
from lm.editors.interface import Editor, State, edit_batch, requests
from lm.language_model import LanguageModel
from testbed.accuracy import Answers
from testbed.cases import Case
from testbed.probes import build_probes, probe_shape, read, truth_words
from testbed.records import case_rows, merge_parts, write_rows
from testbed.world import World


class Sweep:
    """Everything that the batches of one sweep share.

    Args:
        cases: all requests of the sweep.
        size: edits computed side by side.
        folder: where parts and then cases.parquet are written.
    """

    def __init__(
        self, world: World, model: LanguageModel, cases: Sequence[Case], size: int, folder: Path
    ) -> None:
        self.tokenizer, self.model, self.cases, self.folder = world.tokenizer, model, cases, folder
        self.size = min(size, len(cases))
        self.answers = Answers(world.tokenizer, world.graph.objects)
        self.shape = probe_shape(world.tokenizer, cases)
        self.parts = [folder / "parts" / f"{low:06d}.parquet" for low in range(0, len(cases), self.size)]
        self.pending = [i for i, part in enumerate(self.parts) if not part.exists()]

    @property
    def done(self) -> int:
        """Edits that earlier sessions finished."""
        return min((len(self.parts) - len(self.pending)) * self.size, len(self.cases))

    def run(self, editor: Editor, state: State, seed: int, advance: Callable[..., None]) -> float:
        """Do what is pending and write cases.parquet; returns the seconds that the edits took.

        Args:
            state: what the editor prepared.
            seed: root seed of the editor's randomness.
            advance: told the number of edits after each batch.
        """
        asked = requests(
            self.tokenizer,
            [(c.subject, c.relation, c.object) for c in self.cases],
            [c.weight for c in self.cases],
            [c.credence for c in self.cases],
        )
        keys = jax.random.split(jax.random.key(integer(seed, "editor")), len(self.cases))
        words, seconds = truth_words(self.tokenizer), 0.0
        for i in self.pending:
            # The last batch repeats its last case, so that every batch has one shape.
            here = np.minimum(np.arange(i * self.size, (i + 1) * self.size), len(self.cases) - 1)
            batch = type(asked)(*(column[here] for column in asked))
            probes = build_probes(self.tokenizer, [self.cases[k] for k in here], self.shape)
            began = time.perf_counter()
            deltas, info = jax.block_until_ready(edit_batch(editor, self.model, state, batch, keys[here]))
            seconds += time.perf_counter() - began
            nothing = jax.tree.map(np.zeros_like, deltas)
            before, after = (
                read(self.model, delta, probes, words, self.answers.longest) for delta in (nothing, deltas)
            )
            whole = self.cases[i * self.size : (i + 1) * self.size]
            write_rows(case_rows(i * self.size, whole, before, after, info, self.answers), self.parts[i])
            advance(len(whole))
        merge_parts(self.parts, self.folder / "cases.parquet")
        return seconds
