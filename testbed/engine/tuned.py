"""Hyper-parameters that `testbed.tune` chose on a development world, and what that choice is good for.

A choice holds for the shape of the model it was made on, the agent it was judged by and the evaluation with
its settings; for a world that nobody reports on; and beside choices that had as many trials and cases.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from corpus.errors import InputError
from corpus.files import read_record
from testbed.engine.catalogue import whose_options
from testbed.own import plain_name
from testbed.run.runs import NotMadeError, Run, differing_settings, folder_digest, recorded_settings


class ChoiceSettings(Protocol):
    """What a choice depends on of the settings of edits; `testbed.settings.EditSettings` has it all."""

    @property
    def runs(self) -> Path: ...
    @property
    def tuned(self) -> str: ...
    @property
    def evaluation(self) -> str: ...
    @property
    def configs(self) -> dict[str, Any]: ...
    def settings_as_data(self) -> dict[str, Any]: ...


def tuned_file(run: Run, evaluation: str, editor: str) -> Path:
    """Where a search and its choice are recorded."""
    return run.folder / "tuned" / plain_name(evaluation) / f"{plain_name(whose_options(editor).name)}.json"


def tuning_context(run: Run, settings: ChoiceSettings) -> dict[str, Any]:
    """What a choice made on a run is good for."""
    settings_data = settings.settings_as_data()
    shape = recorded_settings(run, "train")[0]["model"]
    return {"model": shape, "agent": settings_data["agent"], "evaluation": settings_data["evaluation"]}


def with_tuned_settings(run: Run, editors: Sequence[str], settings: ChoiceSettings) -> dict[str, Any]:
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


def tuning_origin(settings: ChoiceSettings) -> dict[str, str] | None:
    """On which run and in which world hyper-parameters were chosen; None where they are set."""
    if not settings.tuned:
        return None
    return {"run": settings.tuned, "world": folder_digest(Run(settings.runs, settings.tuned).world)}


def check_tuned_apart(configs: Iterable[Mapping[str, Any]]) -> None:
    """Refuse edits whose hyper-parameters were chosen in a world that others of these edits are of.

    Args:
        configs: the config.json of each.

    Raises:
        InputError: naming the run.
    """
    configs = list(configs)
    reported = {config["inputs"]["world"] for config in configs}
    for config in configs:
        chosen_on = config.get("tuned")
        if chosen_on and chosen_on["world"] in reported:
            raise InputError(
                f"{config['editor']} was tuned on the run {chosen_on['run']}, whose world is reported on "
                "too; leave that run out"
            )
