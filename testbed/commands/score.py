"""Score edits that were made elsewhere, by door.py."""

import re
from pathlib import Path
from typing import Any

from corpus.errors import InputError
from corpus.files import hash_content, hash_file, require_unchanged, staged_folder, write_json
from lm.language_model import LanguageModel
from testbed.commands.edit import (
    Job,
    Jobs,
    draw_with_agent,
    print_headlines,
    recalibrate_model,
    take_whole_sequences,
    trace_cases,
)
from testbed.console import say
from testbed.engine.catalogue import find_namesake
from testbed.engine.file_exchange.answers import check_before, describe_strength, read_folder, write_results
from testbed.engine.file_exchange.schema import FILES, About
from testbed.engine.questions import Questions
from testbed.engine.records import is_complete
from testbed.engine.trace import CONFIG, folder_of
from testbed.own import plain_name
from testbed.run.lock import only_one
from testbed.run.model import load_trained
from testbed.run.runs import Run, differing_settings
from testbed.run.runtime import circumstances, prepare_jax
from testbed.run.strict_json import read_document
from testbed.run.world import World, load_world
from testbed.scores.card_format import NAME
from testbed.scores.readers import columns_of
from testbed.scores.recalibration import temperatures_file
from testbed.settings import ScoreSettings
from testbed.waiting import doing


def score(options: ScoreSettings) -> None:
    """Check the answers of a folder, write them as the rows of an editor, and print the headlines.

    Raises:
        InputError: as `import_answers`.
    """
    jobs = import_answers(options)
    with only_one(jobs.run, "edit"):
        print_headlines(jobs, options)


def import_answers(options: ScoreSettings) -> Jobs:
    """Check the answers of a folder, and write them as the rows of an editor.

    Raises:
        InputError: answers to other cases, or incomplete ones; or the unedited model answered otherwise there
            than here.
    """
    _check_name(options.name)
    with require_unchanged(*(options.answers / name for name in FILES)):
        about = read_document(options.answers / "about.json", About)
        run, world, model, checkpoint = _load_parts(options)
        shared = trace_cases(run, checkpoint, options)
        bound = {key: shared[key] for key in ("inputs", "settings")}
        doing("checking the answers")
        differ = differing_settings({"inputs": about.inputs, "settings": about.settings}, bound)
        if differ:
            raise InputError(
                f"{options.answers} are answers to other cases ({'; '.join(differ[:3])}); give testbed.score "
                "the options that testbed.export --cases had"
            )
        agent, drawn_cases = draw_with_agent(world, options)
        cases = take_whole_sequences(drawn_cases, options)
        questions = Questions(world, model, cases, options.seed)
        answers = read_folder(options.answers, about, world, questions, options.sequence)
        if model:
            check_before(questions, answers, about)
        digest = hash_file(options.answers / "after.jsonl")
    trace = shared | {"editor": options.name, "method": describe_method(options.name, about, digest)}
    folder = folder_of(run, options.evaluation, options.name, trace)
    columns = columns_of(options.chosen_evaluation)
    origin = {"tuned": None, "made_with": circumstances() | {"door": about.versions}}
    temperatures = temperatures_file(run.folder, plain_name(options.evaluation), shared)
    jobs = Jobs(run, world, model, columns, [Job(options.name, None, trace, folder)], origin, temperatures)
    with only_one(run, "edit"):
        if is_complete(folder):
            say(f"{folder} has these answers already")
        else:
            standard = {"agent": options.agent, "exactness": agent.exactness._asdict()}
            untraced = {"standard": standard, "controls": answers.controls} | origin
            with staged_folder(folder) as aside:
                write_json(aside / CONFIG, trace | untraced)
                write_results(questions, answers, columns, aside)
        if model:
            recalibrate_model(jobs, options, (agent, drawn_cases))
        else:
            say("before an edit, the answers are those that came with it; nothing is recalibrated")
        for sentence in describe_strength(questions, answers):
            say(sentence)
    return jobs


def _load_parts(options: ScoreSettings) -> tuple[Run, World, LanguageModel | None, Path | None]:
    """Run, world, and the model of the run, where answers are of edits of it."""
    if not options.own_model:
        return load_trained(options.runs, options.run, options.checkpoint)
    run = Run(options.runs, options.run)
    world = load_world(run)
    prepare_jax()
    return run, world, None, None


def describe_method(name: str, about: About, answers: str) -> dict[str, Any]:
    """What the results of a script depend on, in the form of `testbed.engine.versions.identify_method`.

    Args:
        answers: the checksum of its answers.
    """
    settings = {
        key: getattr(about, key) for key in ("editor", "fields", "padding", "apart", "batch", "device")
    }
    settings |= {"model": about.model} if about.model else {}
    settings["answers"] = answers
    version = hash_content([about.script, about.door])
    return {"editor": name, "settings": settings, "version": version, "elsewhere": True}


def _check_name(name: str) -> None:
    if not re.fullmatch(NAME, name) or ":" in name:
        raise InputError(f"--name {name!r} should be a plain name for tables, such as my-editor")
    if known := find_namesake(name):
        raise InputError(f"--name {name} can be taken for the built-in editor {known}; choose another")
