"""What a user's editor must leave as it is: code, the weights that it edits, this process, files of the run.

It works in this process, so it can change them all. Looked at are all that modules of this project hold,
their functions and classes; the functions and classes of FOREIGN packages; a hash of the weights; JAX's
flags, the working folder, the mask of new files, outputs and what an interrupt does; and files of the run, as
far as `testbed.run.watch` sees them. Not looked at: other packages, and what lies inside objects. See
docs/attack.md.
"""

import hashlib
import inspect
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
from testbed.engine.identity import path_of, paths_of_reads, sources_of
from testbed.engine.methods import Method
from testbed.own import OURS
from testbed.run.watch import AT_IMPORT, Touched, is_of_user, listen, watch_files

FOREIGN = {
    "builtins", "collections", "copy", "functools", "hashlib", "io", "itertools", "json", "math", "os",
    "pathlib", "random", "re", "shutil", "struct", "tempfile", "time",
    "flax", "jax", "jaxlib", "numpy", "pyarrow", "safetensors", "scipy",
}  # fmt: skip
"""Packages of others that scores are made with."""


class House:
    """Code, weights and process as they were before an editor came.

    Args:
        editor: its name, for messages.
        params: the model's.

    Raises:
        InputError: importing the editor has put code of its own into a module of this project.
    """

    def __init__(self, editor: str, params: Any) -> None:
        self.editor, self.params = editor, params
        listen()
        self.objects = dict(_list_objects())
        self.weights, self.process = hash_weights(params), describe_process()
        for name, thing in self.objects.items():
            if is_of_user(_file_of(thing)):
                raise InputError(f"editor {editor} has put code of its own in the place of {name}")

    def check(self) -> None:
        """Look again; what messages and files of this process need is put back.

        Raises:
            InputError: names what the editor has changed.
        """
        process = describe_process()
        os.chdir(self.process["the working folder"])
        os.umask(self.process["the mask of new files"])
        sys.stdout, sys.stderr = self.process["where lines are printed"]
        for name, value in self.process.items():
            if process[name] != value:
                raise InputError(
                    f"editor {self.editor} has changed {name} from {value} to {process[name]}; its edits "
                    "count for nothing"
                )
        for name, thing in _list_objects():
            if self.objects.get(name, thing) is not thing:
                raise InputError(f"editor {self.editor} has changed {name}; its edits count for nothing")
        try:
            weights = hash_weights(self.params)
        except RuntimeError:
            weights = ""
        if weights != self.weights:
            raise InputError(
                f"editor {self.editor} has changed or given away the model's own weights; return a delta, "
                "and leave the model as it is (no donation)"
            )


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


def _list_objects() -> Iterator[tuple[str, Any]]:
    """All that the loaded modules of this project hold, and what can be called of FOREIGN packages.

    The code of functions and the parts of classes, too.
    """
    for module_name, module in list(sys.modules.items()):
        package = module_name.partition(".")[0]
        is_ours = package in OURS
        if not (is_ours or package in FOREIGN):
            continue
        for name, thing in list(vars(module).items()):
            path = f"{module_name}.{name}"
            if is_ours or callable(thing):
                yield path, thing
            if inspect.isfunction(thing):
                yield f"{path}.__code__", thing.__code__
            if isinstance(thing, type) and thing.__module__ == module_name:
                parts = list(vars(thing).items())
                yield from ((f"{path}.{part}", value) for part, value in parts if is_ours or callable(value))


def _file_of(thing: Any) -> str:
    """Where the code of a function lies; nowhere, of anything else."""
    for name in ("__func__", "fget", "func", "__wrapped__"):
        thing = getattr(thing, name, thing) if not isinstance(thing, type) else thing
    code = getattr(thing, "__code__", thing)
    file = str(code.co_filename) if inspect.iscode(code) else ""
    # Cython's functions name a file of their package's source.
    return file if Path(file).is_absolute() else "<none>"


class Guest:
    """An editor at work: what a user's breaks is named, and what it reads is told.

    Args:
        method: the editor, and who wrote it.
        model: that it edits.
        run: the folder of the run.
    """

    def __init__(self, method: Method, model: LanguageModel, run: Path) -> None:
        author = method.author or method.editor
        self.editor, self.path = method.editor, path_of(author)
        module = self.path.partition(":")[0]
        self.is_ours = module.partition(".")[0] in OURS
        if not self.is_ours:
            check_settings(author)
        self.house = None if self.is_ours else House(self.path, model.params)
        self.known = {*map(str, paths_of_reads(self.path, getattr(author, "reads", ())).values())}
        self.known |= set(getattr(author, "reads", ()))
        self.known |= {str(source) for source in sources_of(module)}
        self.seen, self.run = set(AT_IMPORT.get(module, ())), run.absolute()

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Within, whatever a user's editor breaks becomes a message, be it found only when questions are put.

        Raises:
            InputError: names the editor; code or weights are not what they were, too.
        """
        if self.house is None:
            yield
            return
        touched, leave, own = Touched(), os._exit, os.getpid()

        def end(code: int) -> NoReturn:
            """Ending this process at once would end the command without a word, as if all were well."""
            if os.getpid() != own:
                leave(code)
            raise SystemExit(code)

        try:
            os._exit = end  # type: ignore[assignment]
            with watch_files() as touched:
                yield
        except (InputError, OSError):
            raise
        except (Exception, SystemExit, GeneratorExit) as error:
            with errors_attributed_to(self.editor, "edit, or in asking the model it edited"):
                raise error
        finally:
            os._exit = leave
            self._refuse_changes(touched.changed)
            self.house.check()
        self.seen |= touched.read

    def _refuse_changes(self, paths: set[str]) -> None:
        for path in sorted(paths):
            if Path(path).is_relative_to(self.run):
                raise InputError(
                    f"editor {self.path} has written or removed {path}, which belongs to the run; its edits "
                    "count for nothing, and python -m testbed.verify says what is damaged"
                )

    def describe_reads(self) -> list[str]:
        """What the editor reads and does not declare, in words."""
        return [
            f"{self.path} reads {name} and does not say so (reads = (...)), so a change of it goes unnoticed"
            for name in sorted(self.seen - self.known)
        ]


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
