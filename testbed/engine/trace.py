"""What an edits folder was made from and by, as data in its config.json, and whether that still stands."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from corpus.errors import InputError
from corpus.files import hash_content, list_sealed, read_json
from testbed.engine.records import is_complete, is_written
from testbed.engine.versions import SETS, Version, hash_reads, version_of_editor, versions_of_cases
from testbed.own import plain_name
from testbed.run.runs import Run, finished_training, folder_digest, settings_on_record

CONFIG, NOTES = "config.json", "notes.json"
PARTS = {
    "editor": "the editor",
    "reads": "what the editor reads",
    "cases": "the cases",
    "agent": "the agent",
    "asking": "how it is asked",
    "model": "how a model answers",
}
"""What has a version, in words."""
_KNOWN = {"inputs", "settings", "editor", "method", "standard", "controls"}
_TRACED = ("inputs", "settings", "versions", "flags", "editor", "method")
"""What the folder is named after."""


OWN_MODEL = "own-model"
"""In place of a checkpoint's hash, where a stranger trained the model on an exported corpus."""


def inputs_of(run: Run, checkpoint: Path | None) -> dict[str, str]:
    """Hashes of what edits are made from; without a checkpoint, by a model that was trained elsewhere."""
    return {
        "world": folder_digest(run.world),
        "corpus": folder_digest(run.corpus),
        "checkpoint": folder_digest(checkpoint) if checkpoint else OWN_MODEL,
    }


def folder_of(run: Run, evaluation: str, editor: str, trace: dict[str, Any]) -> Path:
    """Where the edits of such a trace lie: under the evaluation, named after editor and trace."""
    return run.edits / plain_name(evaluation) / _name_of(editor, trace)


def _name_of(editor: str, trace: dict[str, Any]) -> str:
    return f"{plain_name(editor)}-{hash_content(trace)}"


def finished_edits(run: Run, evaluation: str) -> list[Path]:
    """The folders of an evaluation's finished edits."""
    return sorted(path for path in (run.edits / plain_name(evaluation)).glob("*") if is_complete(path))


def describe_incomplete(run: Run, evaluation: str) -> Iterator[str]:
    """A remark about each folder of edits without checksums: begun, or of a time or a disk that lost them."""
    for folder in sorted(path.parent for path in (run.edits / plain_name(evaluation)).glob(f"*/{CONFIG}")):
        if is_written(folder) and not is_complete(folder) and not (folder / "parts").exists():
            yield (
                f"{folder} has no checksums, so that nothing says whether it is whole, and is left out; "
                f"python -m testbed.verify {run.options} prints the command that makes it again beside it"
            )
        elif not is_complete(folder):
            yield f"{folder} is unfinished and left out; the command that began it goes on"


def read_config(folder: Path) -> dict[str, Any]:
    """What config.json says.

    Raises:
        InputError: it is damaged, or was written by another version.
    """
    config = read_json(folder / CONFIG)
    if not config.keys() >= _KNOWN:
        raise InputError(
            f"{folder / CONFIG} lacks {', '.join(sorted(_KNOWN - config.keys()))}; it is damaged, or another "
            "version wrote it: move its folder away, or edit again under another --run"
        )
    return config


def version_in_world(run: Run, cases: Version) -> Version:
    """The version of an evaluation's cases in a run's world: where relations are sets, more is asked."""
    has_sets = settings_on_record(run, "corpus").get("world", {}).get("several") == "set"
    return f"{cases}, sets {SETS}" if has_sets else cases


def stale_parts(config: dict[str, Any], cases: Version) -> list[str]:
    """What of the code that made some edits has another version since; empty where nothing has.

    An editor that cannot be found from here is taken as it was.

    Args:
        cases: the version of the evaluation's cases.
    """
    method, name = config["method"], config["editor"]
    then = config["versions"] | {"editor": method["version"], "reads": method.get("reads", {})}
    now = then | versions_of_cases(cases, config["settings"]["agent"]["name"])
    if not method.get("elsewhere"):
        with suppress(ValueError):
            now["editor"] = version_of_editor(name)
        try:
            now["reads"] = hash_reads(name, then["reads"])
        except InputError:
            now["reads"] = {}
    return [words for part, words in PARTS.items() if then.get(part) != now[part]]


def name_edits(config: dict[str, Any]) -> str:
    """What the folder of edits with such a config.json is called."""
    return _name_of(config["editor"], {key: config[key] for key in _TRACED if key in config})


def why_misplaced(folder: Path, config: dict[str, Any]) -> str:
    """Why a folder is not the one of its edits, in words; empty where it is, or too old to say."""
    name = name_edits(config)
    if "versions" not in config or folder.name == name:
        return ""
    return f"has the edits of {name}, by its {CONFIG}, and is left out: give it that name back"


def why_left_out(run: Run, config: dict[str, Any], cases: Version) -> str:
    """Why edits are not those that the same command would make today, in words; empty where they are.

    What they were made from is compared by its hash with what lies in the run. Where no training is finished
    nothing says which model is the run's, and only world and corpus are compared.

    Args:
        cases: the version of the evaluation's cases.
    """
    if "versions" not in config:
        return "is stale and left out: it says no versions of what made it, as results do today; edit again"
    if changed := stale_parts(config, version_in_world(run, cases)):
        return f"is stale and left out: {', '.join(changed)} changed since; edit again"
    there = {"world": folder_digest(run.world), "corpus": folder_digest(run.corpus)}
    if run.finished_file.exists():
        training = finished_training(run)
        step = training["step" if config["settings"]["checkpoint"] == "last" else "best_step"]
        there["checkpoint"] = training["checkpoints"][str(step)]
    other = [f"the {part}" for part, digest in there.items() if config["inputs"].get(part) != digest]
    if not other:
        return ""
    what = f"{', '.join(other)} it was made from is not there"
    return f"was made from another run and is left out: {what}; edit again"


def read_notes(folder: Path) -> list[str]:
    """What is to be told of some edits; mostly nothing."""
    is_there = NOTES in list_sealed(folder) if is_complete(folder) else (folder / NOTES).exists()
    return list(read_json(folder / NOTES)["notes"]) if is_there else []


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
