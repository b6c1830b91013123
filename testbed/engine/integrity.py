"""What a user's editor must leave as it is while it works in this process, and whether its edits are its own.

Looked at before and after are a hash of the weights that it edits; JAX's flags, the working folder, the mask
of new files, outputs and what an interrupt does; and files of the run, as far as `testbed.run.watch` sees
them. Of its edits some are made twice. This project's code is not looked at: an editor that is not trusted
works in a process of its own (`testbed.engine.isolation`). See docs/attack.md.
"""

import hashlib
import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import jax
import numpy as np

from corpus.errors import InputError
from lm.language_model import LanguageModel
from testbed.engine.checks import check_settings, errors_attributed_to
from testbed.engine.methods import Method
from testbed.engine.versions import path_of, paths_of_reads, sources_of
from testbed.own import OURS
from testbed.run.watch import AT_IMPORT, listen, watch_files


class EditorWatch:
    """An editor at work: what a user's breaks is named, what it reads is told, and what differs each time.

    Editors of this project are not watched.

    Args:
        method: the editor, and who wrote it.
        model: that it edits.
        run: the folder of the run.

    Attributes:
        notes: what is to be told of its edits, in words.
    """

    def __init__(self, method: Method, model: LanguageModel, run: Path) -> None:
        author = method.author or method.editor
        self.editor, self.path, self.notes = method.editor, path_of(author), list[str]()
        module = self.path.partition(":")[0]
        self.is_ours = module.partition(".")[0] in OURS
        if self.is_ours:
            return
        check_settings(author)
        listen()
        self._params, self._run = model.params, run.absolute()
        self._weights, self._process = hash_weights(model.params), describe_process()
        reads = getattr(author, "reads", ())
        self._declared = {*reads, *map(str, paths_of_reads(module, reads).values())}
        self._declared |= {str(source) for source in sources_of(module)}
        self._read = set(AT_IMPORT.get(module, ()))

    @contextmanager
    def look(self) -> Iterator[None]:
        """Within, whatever a user's editor breaks becomes a message, be it found only when questions are put.

        Raises:
            InputError: names the editor; weights or process are not what they were, too.
        """
        if self.is_ours:
            yield
            return
        leave, own = os._exit, os.getpid()

        def end(code: int) -> NoReturn:
            """Ending this process at once would end the command without a word, as if all were well."""
            if os.getpid() != own:
                leave(code)
            raise SystemExit(code)

        with watch_files() as touched:
            try:
                os._exit = end  # type: ignore[assignment]
                yield
            except (InputError, OSError):
                raise
            except (Exception, SystemExit, GeneratorExit) as error:
                with errors_attributed_to(self.editor, "edit, or in asking the model it edited"):
                    raise error
            finally:
                os._exit = leave
                self._refuse_changes(touched.changed)
        self._read |= touched.read

    def _refuse_changes(self, files: set[str]) -> None:
        """Refuse what it has changed; what messages and files of this process need is put back."""
        process = describe_process()
        os.chdir(self._process["the working folder"])
        os.umask(self._process["the mask of new files"])
        sys.stdout, sys.stderr = self._process["where lines are printed"]
        changed = [
            f"{name} from {value} to {process[name]}"
            for name, value in self._process.items()
            if process[name] != value
        ]
        of_run = sorted(path for path in files if Path(path).is_relative_to(self._run))
        if of_run:
            raise InputError(
                f"editor {self.path} has written or removed {of_run[0]}, which belongs to the run; its edits "
                "count for nothing, and python -m testbed.verify says what is damaged"
            )
        if changed:
            raise InputError(f"editor {self.path} has changed {changed[0]}; its edits count for nothing")
        try:
            weights = hash_weights(self._params)
        except RuntimeError:
            weights = ""
        if weights != self._weights:
            raise InputError(
                f"editor {self.path} has changed or given away the model's own weights; return a delta, "
                "and leave the model as it is (no donation)"
            )

    def note_difference(self, what: str, first: Any, second: Any) -> None:
        """Note how far two things of its making are apart that should be the same."""
        if apart := how_far_apart(first, second):
            self.notes.append(f"{self.path} {what} (by up to {apart:.2g})")

    def describe(self) -> list[str]:
        """What is to be told: differences, and what the editor reads and does not declare."""
        unsaid = () if self.is_ours else sorted(self._read - self._declared)
        return self.notes + [
            f"{self.path} reads {name} and does not say so (reads = (...)), so a change of it goes unnoticed"
            for name in unsaid
        ]


def hash_weights(params: Any) -> str:
    """A hash of all arrays of a tree and their places in it, bit for bit."""
    seen = hashlib.sha256()
    for path, leaf in jax.tree_util.tree_leaves_with_path(params):
        seen.update(jax.tree_util.keystr(path).encode())
        seen.update(np.ascontiguousarray(leaf).view(np.uint8).data)
    return seen.hexdigest()


def describe_process() -> dict[str, Any]:
    """What of a process changes the numbers or the places of files, by what it is called."""
    mask = os.umask(0)
    os.umask(mask)
    flags = {name: getattr(jax.config, name, value) for name, value in jax.config.values.items()}
    return {f"the flag {name.removeprefix('jax_')} of JAX": value for name, value in flags.items()} | {
        "the flags of XLA": os.environ.get("XLA_FLAGS", ""),
        "the working folder": str(Path.cwd()),
        "the mask of new files": mask,
        "where lines are printed": (sys.stdout, sys.stderr),
        "what an interrupt does": signal.getsignal(signal.SIGINT),
    }


def how_far_apart(first: Any, second: Any) -> float:
    """The largest difference between arrays of two trees that should be equal to the bit; 0 if they are."""
    farthest = 0.0
    pairs = zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True)
    for a, b in (map(np.asarray, pair) for pair in pairs):
        if not np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
            gap = np.abs(np.nan_to_num(a.astype(float)) - np.nan_to_num(b.astype(float)))
            farthest = max(farthest, float(gap.max(initial=0.0)), np.finfo(float).tiny)
    return farthest


def is_traced_alike(editor: Any, *arguments: Any) -> bool:
    """Whether an edit is the same program each time it is traced; one that draws by NumPy is not."""
    # A function of its own each time, since JAX remembers what it has traced.
    traces = [jax.make_jaxpr(partial(editor.edit))(*arguments) for _ in range(2)]
    texts = {re.sub("0x[0-9a-f]+", "", str(trace.jaxpr)) for trace in traces}
    return len(texts) == 1 and not how_far_apart(*(trace.consts for trace in traces))
