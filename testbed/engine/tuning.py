"""From an editor's name to a method: hyper-parameters as they were set, or as `testbed.tune` chose them.

A choice holds for the shape of the model it was made on, the agent it was judged by and the evaluation with
its settings; for a world that nobody reports on; and beside choices that had as many trials and cases.
"""

import importlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus.errors import InputError
from corpus.files import read_record
from lm.editors.entry import Entry
from testbed.engine.catalogue import entry_named, whose_options
from testbed.engine.methods import Control, Method, the_request
from testbed.own import plain_name
from testbed.run.runs import NotMadeError, Run, differing_settings, folder_digest, recorded_settings

if TYPE_CHECKING:
    from testbed.run.world import World
    from testbed.settings import EditSettings


def method_named(name: str, settings: "EditSettings", world: "World") -> Method:
    """The method of that name, with its hyper-parameters of `settings.configs`.

    Raises:
        InputError: no such editor, module or class; or an editor that cannot do what is asked.
    """
    entry = entry_named(name)
    config = settings.configs.get(entry.options, entry.config)
    return _build_method(entry, config, settings, world)._replace(strength=settings.strength)


def _build_method(entry: Entry, config: Any, settings: "EditSettings", world: "World") -> Method:
    if isinstance(entry, Control):
        return _import_object(entry.build)(config, settings, world)
    if not entry.build:
        return Method(config, the_request)
    build = _import_object(entry.build)
    return Method(build() if config is None else build(config), the_request)


def _import_object(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def tuned_file(run: Run, evaluation: str, editor: str) -> Path:
    """Where a search and its choice are recorded."""
    return run.folder / "tuned" / plain_name(evaluation) / f"{plain_name(whose_options(editor).name)}.json"


def tuning_context(run: Run, settings: "EditSettings") -> dict[str, Any]:
    """What a choice made on a run is good for."""
    settings_data = settings.settings_as_data()
    shape = recorded_settings(run, "train")[0]["model"]
    return {"model": shape, "agent": settings_data["agent"], "evaluation": settings_data["evaluation"]}


def with_tuned_settings(run: Run, editors: Sequence[str], settings: "EditSettings") -> dict[str, Any]:
    """The hyper-parameters of `settings` with what was chosen for some editors on the run `settings.tuned`.

    Editors with nothing to search need no choice.

    Args:
        run: whose model is to be edited.

    Raises:
        InputError: an editor was not tuned; or its file does not fit, was made in the world of `run`, for
            something else, or with another budget than that of another editor.
    """
    configs, budgets = dict(settings.configs), {}
    for entry in (whose_options(name) for name in editors):
        if not entry.search:
            continue
        path = tuned_file(Run(settings.runs, settings.tuned), settings.evaluation, entry.name)
        again = f"python -m testbed.tune {entry.name} --run {settings.tuned}"
        if not path.exists():
            raise NotMadeError(f"{path} is missing", f"tune {entry.name}", Run(settings.runs, settings.tuned))
        record = read_record(path)
        config = settings.configs.get(entry.options, entry.config)
        try:
            configs[entry.options] = replace(config, **record["chosen"])
            made_for, world, budgets[path] = record["bound"], record["world"], record["budget"]
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path} does not fit ({error}); move it away and tune again: {again}") from None
        if world == folder_digest(run.world):
            raise InputError(
                f"{path} was chosen in the world of {run.folder}, on which it would be judged; tune on "
                "another world: python -m testbed.corpus with another --run and --seed, then train, then tune"
            )
        other = differing_settings(made_for, tuning_context(run, settings))
        if other:
            raise InputError(f"{path} was chosen for something else ({'; '.join(other[:3])}); {again}")
    if len({str(sorted(budget.items())) for budget in budgets.values()}) > 1:
        each = "; ".join(f"{path}: {budget}" for path, budget in budgets.items())
        raise InputError(f"not every editor was tuned with the same budget ({each}); tune with one for all")
    return configs
