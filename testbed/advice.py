"""Command lines that work as printed: preset, run and every option that differs from the preset."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

from corpus.errors import InputError
from testbed.engine.catalogue import default_configurations, whose_options
from testbed.evaluations.catalogue import prefix_of
from testbed.own import OWN
from testbed.presets import CORPUS, DEFAULT_PRESET, EDIT, TRAIN
from testbed.run.runs import Run, settings_on_record
from testbed.run.settings import as_plain_data

PRESETS: dict[str, Mapping[str, Any]] = {"corpus": CORPUS, "train": TRAIN, "edit": EDIT, "tune": EDIT}


def command_for(run: Run, stage: str, typed: str = "") -> str:
    """The command that makes a stage of a run, as it was made where that is recorded.

    Args:
        stage: a command, perhaps with what follows it, such as "tune rome".
        typed: the preset of the command line that asks; without it, that of the run's corpus, or the one that
            the run is called after.
    """
    name, _, rest = stage.partition(" ")
    recorded_settings = _stage_settings(run, name)
    preset, flags = _nearest_preset(recorded_settings, PRESETS[name]) if recorded_settings else ("", [])
    if name in PRESETS and not recorded_settings:
        corpus = _stage_settings(run, "corpus")
        nearest = _nearest_preset(corpus, CORPUS)[0] if corpus else run.name
        preset = next((one for one in (typed, nearest) if one in PRESETS[name]), "")
    return _join_words(name, preset, rest and shlex.quote(rest), run, flags)


def preset_of_run(run: Run) -> str:
    """The preset whose corpus is nearest to a run's."""
    corpus = _stage_settings(run, "corpus")
    nearest = _nearest_preset(corpus, CORPUS)[0] if corpus else ""
    return nearest if nearest in EDIT else DEFAULT_PRESET


def edit_command(run: Run, config: Mapping[str, Any]) -> str:
    """The command that makes edits again, from the config.json beside them."""
    editor = config["editor"]
    preset, flags = _flags_of_cases(config["settings"])
    flags += _own_flags(editor, config, EDIT[preset].configs)
    return _join_words("edit", preset, shlex.quote(editor), run, flags)


def score_command(run: Run, settings: Mapping[str, Any]) -> str:
    """The command that scores answers to cases, from the settings that the cases were exported with."""
    preset, flags = _flags_of_cases(settings)
    return _join_words("score", preset, "answers --name my-editor", run, flags)


def _join_words(name: str, preset: str, names: str, run: Run, flags: list[str]) -> str:
    preset = "" if preset == DEFAULT_PRESET else preset
    words = [f"python -m testbed.{name}", preset, names, run.options, shlex.join(flags)]
    return " ".join(word for word in words if word)


def _flags_of_cases(settings: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The preset that settings of cases are nearest to, and the options that make them of it."""
    settings = dict(settings)
    evaluation, agent = dict(settings.pop("evaluation")), dict(settings.pop("agent"))
    preset, flags = _nearest_preset(settings, EDIT)
    chosen_names = {
        "evaluation": (evaluation.pop("name"), EDIT[preset].evaluation),
        "agent": (agent.pop("name"), EDIT[preset].agent),
    }
    flags += [word for key, (is_, was) in chosen_names.items() if is_ != was for word in (f"--{key}", is_)]
    preset_evaluation = EDIT[preset].evaluations.get(prefix_of(chosen_names["evaluation"][0]))
    flags += _option_flags(
        evaluation,
        as_plain_data(preset_evaluation) if preset_evaluation else dict.fromkeys(evaluation),
        f"{prefix_of(chosen_names['evaluation'][0])}.",
    )
    flags += _option_flags(agent, as_plain_data(EDIT[preset].paper_agent), "paper-agent.") if agent else []
    return preset, flags


def words_of_config(command: str, path: Path) -> list[str]:
    """What to type behind a command to do what a file says: the config.json of a run, or that of edits.

    An editor of the user's is not among the words: whoever wants it names it.

    Raises:
        InputError: the file is not readable, or says nothing of this command.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if command in PRESETS and isinstance(content.get(command), dict):
            preset, flags = _nearest_preset(content[command]["settings"], PRESETS[command])
            return [preset, *flags]
        if command == "edit" and "method" in content:
            preset, flags = _flags_of_cases(content["settings"])
            if OWN.fullmatch(content["editor"]):
                return [preset, *flags]
            return [
                preset,
                content["editor"],
                *flags,
                *_own_flags(content["editor"], content, EDIT[preset].configs),
            ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path} is not readable as a config.json ({type(error).__name__}: {error})"
        ) from None
    has = "a run's config.json has corpus and train, that of a folder below its edits has edit"
    raise InputError(f"{path} says nothing of {command}: {has}")


def ask_options(run: Run, editor: str, settings: Mapping[str, Any]) -> str:
    """What follows `python -m testbed.ask QUESTION --edit FACT` where a recorded editor is to make the edit.

    Args:
        settings: of its edits, the editor's own under "method".
    """
    flags = ["--editor", editor]
    for name, value, usual in (
        ("agent", settings["agent"]["name"], "paper"),
        ("request", settings["evaluation"].get("request", "evidence"), "evidence"),
        ("credence", settings["cases"]["credence"], 0.95),
    ):
        flags += [f"--{name}", str(value)] if value != usual else []
    flags += _own_flags(editor, settings, default_configurations(small=True))
    return " ".join(word for word in (run.options, shlex.join(flags)) if word)


def _own_flags(editor: str, settings: Mapping[str, Any], preset: Mapping[str, Any]) -> list[str]:
    """Options of an editor's own settings, where they are neither those of a preset nor the usual ones."""
    try:
        entry = whose_options(editor)
    except InputError:
        # An editor of the user's that is not found from here.
        return []
    default = preset.get(entry.options, entry.config)
    if not is_dataclass(default):
        # None, or a function in PyTorch: neither has options.
        return []
    own = settings["method"]["settings"]
    return _option_flags(own.get("config", own), as_plain_data(default), f"{entry.options}.")


def _stage_settings(run: Run, stage: str) -> dict | None:
    try:
        return settings_on_record(run, stage)
    except InputError:
        return None


def _nearest_preset(settings: Mapping[str, Any], presets: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The preset that settings are nearest to, and the options that make them of it."""
    flags = {name: _option_flags(settings, as_plain_data(preset)) for name, preset in presets.items()}
    name = min(flags, key=lambda key: len(flags[key]))
    return name, flags[name]


def _option_flags(settings: Mapping[str, Any], default: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Options for the settings that are not as by default; what has no default is no option any more."""
    words: list[str] = []
    for key, was in default.items():
        option, value = prefix + key.replace("_", "-"), settings.get(key, was)
        if isinstance(value, dict):
            usual = was if isinstance(was, dict) else dict.fromkeys(value)
            words += _option_flags(value, usual, f"{option}.")
        elif value != was and isinstance(value, bool):
            above, dot, last = option.rpartition(".")
            words.append(f"--{above}{dot}{'' if value else 'no-'}{last}")
        elif value != was:
            words += [f"--{option}", *map(str, value if isinstance(value, list) else [value])]
    return words
