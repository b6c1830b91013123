"""Is every file of a run as it was written, and if not, what to do."""

import shlex
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from corpus.errors import InputError
from corpus.files import read_json, read_record, verify_folder
from corpus.worlds.account import describe_change
from lm.checkpoint_files import all_checkpoints
from testbed.advice import command_for, edit_command
from testbed.commands.remake import ELSEWHERE, SAME, remake_run
from testbed.console import print_table, say
from testbed.engine.records import SUMMARY, is_complete, is_written
from testbed.engine.trace import CONFIG, read_config, why_misplaced
from testbed.engine.versions import describe_other_versions
from testbed.run.runs import ORIGIN, Run, finished_training, folder_digest, read_metrics, recorded_settings
from testbed.settings import VerifySettings
from testbed.waiting import doing


class Part(NamedTuple):
    """A folder or a file of a run.

    Attributes:
        path: where it lies.
        check: raises an `InputError` where something is wrong.
        mend: the command that makes it again.
        aside: whether it has to be moved away first.
    """

    path: Path
    check: Callable[[], object]
    mend: Callable[[], str]
    aside: bool = True


def verify(options: VerifySettings) -> None:
    """Compare every file of a run with its checksum, perhaps also with itself made again; nothing is changed.

    Raises:
        InputError: there is no such run, or a part of it is damaged, or differs when made again.
    """
    run = Run(options.runs, options.run)
    if not run.folder.is_dir():
        raise InputError(f"{run.folder}: no such run; {command_for(run, 'corpus')} makes one")
    doing("comparing files with their checksums")
    wrong = {part: wrong_with(part) for part in parts_of(run)}
    rows = [(part.path.relative_to(run.folder), "DAMAGED" if why else "whole") for part, why in wrong.items()]
    print_table(f"files of {run.folder}", ("part", "state"), rows, numbers=False)
    for sentence in describe_other_versions(run):
        say(sentence)
    if change := _describe_source(run):
        say(change)
    damaged = [(part, why) for part, why in wrong.items() if why]
    for part, why in damaged:
        say(f"{why}; this makes it again:\n  {_mending_command(run, part)}")
    if damaged:
        raise InputError(f"{len(damaged)} of {len(wrong)} parts of {run.folder} are damaged; see above")
    if options.whole:
        with TemporaryDirectory(prefix="credence-") as scratch:
            made = list(remake_run(run, Path(scratch)))
        print_table(f"{run.folder} made again", ("part", "made again"), made, numbers=False)
        differ = [part for part, outcome in made if not outcome.startswith((SAME, ELSEWHERE))]
        if differ:
            raise InputError(
                f"{len(differ)} of {len(made)} parts of {run.folder} differ when made again; see above"
            )
        say(f"all {len(made)} parts are the same when they are made again")


def parts_of(run: Run) -> Iterator[Part]:
    """Everything that a run holds so far, in the order in which commands make it."""

    def how(stage: str) -> Callable[[], str]:
        return lambda: command_for(run, stage)

    yield Part(run.config_file, lambda: read_record(run.config_file), how("corpus"), aside=False)
    if run.world.exists() or run.corpus.exists():
        yield Part(run.world, lambda: verify_folder(run.world), how("corpus"))
    if run.corpus.exists():
        yield Part(run.corpus, lambda: _check_corpus(run), how("corpus"))
    for path in all_checkpoints(run.checkpoints):
        yield Part(path, partial(_check_checkpoint, run, path), how("train"))
    if run.finished_file.exists():
        yield Part(run.finished_file, lambda: _check_finished(run), how("train"), aside=False)
        yield Part(run.metrics, lambda: _check_metrics(run), how("train"), aside=False)
    for path in sorted(run.folder.glob("recalibrated/*.json")):
        yield Part(path, partial(read_record, path), how("edit"))
    for path in sorted(run.folder.glob("tuned/*/*.json")):
        yield Part(path, partial(read_record, path), how(f"tune {':'.join(path.stem.rsplit('.', 1))}"))
    # Imported late, so that --help loads no NumPy.
    for folder in sorted(path for path in run.edits.glob("*/*") if path.is_dir()):
        # Without tables, or with parts of them, they are unfinished: the command that makes them goes on.
        if is_complete(folder) or (is_written(folder) and not (folder / "parts").exists()):
            yield Part(folder, partial(_check_edits, folder), partial(_edit_command, run, folder))
    folders = (
        ("report", run.report),
        ("report", run.report / "explorer"),
        ("export", run.folder / "huggingface"),
        ("export --gold", run.folder / "gold"),
    )
    for stage, folder in folders:
        if folder.exists():
            keep = stage == "report"
            yield Part(folder, partial(verify_folder, folder), how(stage), aside=not keep)


def _describe_source(run: Run) -> str:
    """How the table of a run's world differs by now; empty where it does not, or nobody knows."""
    try:
        world = recorded_settings(run, "corpus")[0]["world"]
        tags = world.get("people", {}).get("tags", "")
        return describe_change(run.world, world["path"], world.get("labels", ""), tags)
    except (InputError, OSError, KeyError):
        # Said of the files themselves.
        return ""


def wrong_with(part: Part) -> str:
    """What is wrong with a part, without what to do about it; empty where nothing is."""
    try:
        part.check()
    except (InputError, OSError) as error:
        return str(error).partition("; ")[0]
    return ""


def _check_corpus(run: Run) -> None:
    verify_folder(run.corpus)
    if read_json(run.corpus / ORIGIN).get("world") != folder_digest(run.world):
        raise InputError(f"{run.corpus} was written about another world")


def _check_checkpoint(run: Run, path: Path) -> None:
    verify_folder(path)
    try:
        known = finished_training(run)["checkpoints"]
    except InputError:
        # Not finished, or damaged, which is said of the file itself.
        return
    if known.get(str(int(path.name)), folder_digest(path)) != folder_digest(path):
        raise InputError(f"{path} is another checkpoint than {run.finished_file} says")


def _check_finished(run: Run) -> None:
    for step in finished_training(run)["checkpoints"]:
        if not (run.checkpoints / f"{int(step):08d}").exists():
            raise InputError(f"{run.checkpoints / f'{int(step):08d}'} is missing")


def _check_metrics(run: Run) -> None:
    try:
        finished_training(run)
    except InputError:
        # Said of that file; training again writes both.
        return
    read_metrics(run)


def _check_edits(folder: Path) -> None:
    verify_folder(folder)
    if why := why_misplaced(folder, read_config(folder)):
        raise InputError(f"{folder} {why}")
    read_record(folder / SUMMARY)


def _edit_command(run: Run, folder: Path) -> str:
    try:
        return edit_command(run, read_json(folder / CONFIG))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, InputError):
        # How they were made is what is damaged.
        return command_for(run, "edit")


def _mending_command(run: Run, part: Part) -> str:
    """A command line that moves a damaged part aside, destroying nothing, and makes it again."""
    if not part.aside or not part.path.exists():
        return part.mend()
    free = (run.folder / f"damaged-{part.path.name}{i or ''}" for i in range(1000))
    aside = next(path for path in free if not path.exists())
    return f"mv {shlex.quote(str(part.path))} {shlex.quote(str(aside))} && {part.mend()}"
