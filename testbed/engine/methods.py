"""Editing methods by name: the built-in ones, controls, and a user's own as my_module:MyEditor."""

import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from corpus.errors import InputError
from corpus.seeds import generator
from lm.editors.context_distillation import ContextDistillation
from lm.editors.embeddings import Embeddings
from lm.editors.ft_constrained import Constrained
from lm.editors.full import Full
from lm.editors.grace import Grace
from lm.editors.in_context import InContext
from lm.editors.interface import Editor
from lm.editors.lora import lora_all, lora_down
from lm.editors.memit import Memit
from lm.editors.mend import Mend
from lm.editors.none import NoEdit
from lm.editors.rome import Rome
from lm.editors.self_bayes import SelfBayes
from testbed.engine.retrain import Retrain
from testbed.protocol import Case
from testbed.presets import EditSettings
from testbed.run.runs import Run, recorded
from testbed.run.world import World

Fact = tuple[int, int, int]


class Method(NamedTuple):
    """An editor, and which facts it is given for a case.

    Attributes:
        facts: what it is told; the first again where another case has more.
        most: how many edits are worth computing side by side.
    """

    editor: Editor
    facts: Callable[[Case], list[Fact]]
    most: int = 128


def the_request(case: Case) -> list[Fact]:
    """What every method is given, except controls."""
    return [case.fact]


def implied(case: Case) -> list[Fact]:
    """What the rational agent would answer to every choice after the edit, the request first."""
    asked = [c for c in case.choices if (c.subject, c.relation) != case.fact[:2]]
    return [case.fact, *((c.subject, c.relation, int(c.answer[1])) for c in asked)]


def methods(options: EditSettings, world: World) -> dict[str, Callable[[], Method]]:
    """Every built-in method by name, the controls last."""
    configs, run = options.configs, Run(options.runs, options.run)

    def plain(editor: Editor) -> Callable[[], Method]:
        return lambda: Method(editor, the_request)

    def random_target(case: Case) -> list[Fact]:
        """The same fact with an object that nobody asked for."""
        objects = world.graph.objects
        s, r, o = case.fact
        others = objects[(objects != o) & (objects != case.truth)]
        rng = generator(options.seed, f"random target {s} {r} {o}")
        return [(s, r, int(rng.choice(others)) if len(others) else o)]

    def retrain() -> Method:
        if options.sequence > options.batch:
            raise InputError("retrain learns everything anew and builds on no earlier edit; use --batch")
        reshuffles = recorded(run, "corpus")[0]["documents"]["reshuffles"]
        per_weight = reshuffles / (options.evidence_multiplicity if options.agent == "paper" else 1.0)
        return Method(Retrain(configs.retrain, run, per_weight), the_request, most=4)

    return {
        "lora-down": plain(lora_down(configs.lora_down)),
        "lora-all": plain(lora_all(configs.lora_all)),
        "embeddings": plain(Embeddings(configs.embeddings)),
        "full": plain(Full(configs.full)),
        "full-early": plain(Full(configs.full_early)),
        "full-late": plain(Full(configs.full_late)),
        "ft-constrained": plain(Constrained(configs.ft_constrained)),
        "rome": plain(Rome(configs.rome)),
        "memit": plain(Memit(configs.memit)),
        "mend": plain(Mend(configs.mend)),
        "in-context": plain(InContext(configs.in_context)),
        "grace": plain(Grace(configs.grace)),
        "self-bayes": plain(SelfBayes(configs.self_bayes)),
        "context-distillation": plain(ContextDistillation(configs.context_distillation)),
        "none": plain(NoEdit()),
        "random-target": lambda: Method(lora_down(configs.lora_down), random_target),
        "oracle": lambda: Method(lora_down(configs.lora_down), implied),
        "retrain": retrain,
    }


def method_named(name: str, options: EditSettings, world: World) -> Method:
    """The method of that name.

    A name with a colon is imported from the user's own module, found from the working folder too. Only
    names given on the command line are ever imported, never one found in data.

    Raises:
        InputError: no such editor, module or class.
    """
    known = methods(options, world)
    if name in known:
        return known[name]()
    if ":" not in name:
        raise InputError(f"unknown editor {name!r}; use {', '.join(known)}, or my_module:MyEditor")
    return Method(_imported(name), the_request)


def _imported(asked: str) -> Editor:
    module, _, name = asked.partition(":")
    if not (name.isidentifier() and all(part.isidentifier() for part in module.split("."))):
        raise InputError(f"unknown editor {asked!r}; your own is named my_module:MyEditor")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ModuleNotFoundError as error:
        raise InputError(f"editor {asked!r}: {error}") from None
    if not (callable(found) and hasattr(found, "prepare") and hasattr(found, "edit")):
        raise InputError(f"editor {asked!r}: {module} has no class {name} with prepare and edit")
    try:
        editor: Editor = found()
        hash(editor)
    except TypeError as error:
        raise InputError(
            f"editor {asked!r} ({error}): it should be a frozen dataclass with defaults"
        ) from None
    return editor


def identity(method: Method) -> dict[str, str]:
    """What a method's results depend on: its hyper-parameters, what it is told, the text of its module."""
    source = inspect.getsource(sys.modules[type(method.editor).__module__])
    return {
        "editor": repr(method.editor),
        "facts": method.facts.__name__,
        "source": hashlib.sha256(source.encode()).hexdigest()[:12],
    }
