"""Score edits that were made elsewhere, by door.py: check the answers, and write them as rows."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from corpus.errors import InputError
from corpus.files import hash_content, hash_file, require_unchanged, staged_folder, write_json
from lm.editors.interface import Info
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
from testbed.engine.file_exchange.cases import hash_cases, marks_of, pad_answers
from testbed.engine.file_exchange.schema import FILES, About, EditLine, Exam, Line
from testbed.engine.questions import ModelAnswers, Questions
from testbed.engine.records import (
    Circumstances,
    Columns,
    control_stem,
    is_complete,
    rows_of_cases,
    write_rows,
)
from testbed.engine.trace import CONFIG, folder_of
from testbed.own import plain_name
from testbed.protocol import names_of_controls
from testbed.run.lock import only_one
from testbed.run.model import load_trained
from testbed.run.runs import Run, differing_settings
from testbed.run.runtime import circumstances, prepare_jax
from testbed.run.strict_json import read_document, read_lines
from testbed.run.world import World, load_world
from testbed.scores.card_format import NAME
from testbed.scores.readers import columns_of
from testbed.scores.recalibration import temperatures_file
from testbed.settings import ScoreSettings
from testbed.waiting import doing

SAME = 1e-4
"""Probabilities of one text may differ so far, read there and here; `door.py` stands alone and has it too."""
TOGETHER = 32
"""Cases that the unedited model is asked at once."""
STOP = 0.05
"""Of probability, that a stop behind the requested object may cost on average before it is remarked on."""
AnyLine = TypeVar("AnyLine", bound=Line)


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
            _check_before(questions, answers, about)
        digest = hash_file(options.answers / "after.jsonl")
    trace = shared | {"editor": options.name, "method": describe_method(options.name, about, digest)}
    folder = folder_of(run, options.evaluation, options.name, trace)
    columns = columns_of(options.chosen_evaluation)
    origin = {"tuned": None, "made_with": circumstances() | {"door": about.versions}}
    temperatures = temperatures_file(run.folder, plain_name(options.evaluation), shared)
    read_model, job = (lambda: model) if model else None, Job(options.name, None, trace, folder)
    jobs = Jobs(run, world, read_model, columns, [job], origin, temperatures)
    with only_one(run, "edit"):
        if is_complete(folder):
            say(f"{folder} has these answers already")
        else:
            standard = {"agent": options.agent, "exactness": agent.exactness._asdict()}
            untraced = {"standard": standard, "controls": answers.controls} | origin
            with staged_folder(folder) as aside:
                write_json(aside / CONFIG, trace | untraced)
                _write_results(questions, answers, columns, aside)
        if model:
            recalibrate_model(jobs, options, (agent, drawn_cases))
        else:
            say("before an edit, the answers are those that came with it; nothing is recalibrated")
        for sentence in _describe_strength(questions, answers):
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


class Answers(NamedTuple):
    """A folder of answers, one line a case.

    Attributes:
        before: of the unedited model.
        after: by what was told in place of the request ("" for the request) and the mark, 0 for each case
            when it was edited, else the number of edits of its sequence after which it was asked again.
        sequence: edits that build on each other.
    """

    before: list[Line]
    after: dict[tuple[str, int], list[EditLine]]
    controls: list[str]
    sequence: int


def read_folder(folder: Path, about: About, world: World, questions: Questions, sequence: int) -> Answers:
    """Read answers, and see that they are those to these cases, all of them, each once.

    Raises:
        InputError: they are not; says in which line and field.
    """
    cases = questions.cases
    if about.cases != hash_cases(world, cases):
        raise InputError(f"{folder} answers cases that other code made; export them and examine again")
    controls, exam = names_of_controls(cases, sequence), Exam(questions)
    marks = marks_of(len(cases), sequence)
    wanted = {(name, 0): range(len(cases)) for name in ("", *controls)}
    after = wanted | {("", m): [k for k in range(len(cases)) if k % sequence < m] for m in marks}
    sorted_before = _sort_lines(folder / "before.jsonl", Line, exam, {("", 0): wanted["", 0]})["", 0]
    return Answers(
        sorted_before, _sort_lines(folder / "after.jsonl", EditLine, exam, after), controls, sequence
    )


def _sort_lines(
    path: Path, schema: type[AnyLine], exam: Exam, wanted: Mapping[tuple[str, int], Sequence[int]]
) -> dict[tuple[str, int], list[AnyLine]]:
    """The lines of a file by control and mark, in the order of cases."""
    lines: dict[tuple[str, int], dict[int, AnyLine]] = {key: {} for key in wanted}
    for where, line in read_lines(path, schema):
        key = getattr(line, "control", ""), getattr(line, "mark", 0)
        if why := exam.find_fault(line):
            raise InputError(f"{where}, {why}; examine again, into another folder")
        if line.case in lines.get(key, {}) or line.case not in wanted.get(key, ()):
            again = "stands there twice" if line.case in lines.get(key, {}) else "was not asked"
            raise InputError(f"{where}, case: {line.case} {again} (control {key[0]!r}, mark {key[1]})")
        lines[key][line.case] = line
    for key, several in wanted.items():
        if missing := [k for k in several if k not in lines[key]]:
            raise InputError(
                f"{path} lacks {len(missing)} of {len(several)} cases (the first is {missing[0]}); "
                "examine goes on where it was"
            )
    return {key: [lines[key][k] for k in several] for key, several in wanted.items()}


def _check_before(questions: Questions, answers: Answers, about: About) -> None:
    """Hold the answers of the unedited model there against those here.

    Raises:
        InputError: they differ; says by how much, and which side is likely at fault.
    """
    theirs = pad_answers(questions, answers.before)
    which = np.arange(len(questions.cases))
    parts = [
        questions.answers_before(some[:, None]) for some in np.array_split(which, -(-len(which) // TOGETHER))
    ]
    ours = ModelAnswers(*map(np.concatenate, zip(*parts, strict=True)))
    distances = np.concatenate(
        [
            np.abs(a - b).reshape(len(which), -1)
            for a, b in zip(theirs, ours, strict=True)
            if a.dtype == np.float32
        ],
        axis=1,
    )
    if np.nanmax(distances) <= SAME and np.isfinite(distances).all():
        return
    nonzero = distances[distances > 0]
    share = float(np.mean(~(nonzero <= SAME)))
    version = f"{', '.join(f'{name} {number}' for name, number in about.versions.items()):.200}"
    if not np.isfinite(distances).all():
        why = f"some answers there are not numbers; the fault is on the side of PyTorch ({version})"
    elif share > 0.5:
        why = (
            f"nearly all differ ({share:.0%}): the weights were read in another precision or were changed "
            f"there; load them in float32, on {about.device} as on a CPU"
        )
    else:
        why = (
            f"{share:.0%} differ: the weights are the same and texts were read otherwise there, as by "
            "padding; examine with batch=1"
        )
    raise InputError(
        f"the unedited model answers otherwise there than here (by {np.nanmax(distances):.2g}, "
        f"{SAME:g} is allowed); {why}"
    )


def _write_results(questions: Questions, answers: Answers, columns: Columns, folder: Path) -> None:
    """Write the tables of all answers."""
    for (control, mark), lines in answers.after.items():
        stem = f"retained-{mark}-" if mark else control_stem(control)
        # Passages are left out, as nobody wrote them.
        number = np.array([line.case for line in lines])
        cases = [questions.cases[k] for k in number]
        nothing = np.zeros(len(lines), np.int32)
        subjects = np.array([case.request.subject for case in cases])
        how = Circumstances(
            case=number,
            cluster=subjects if answers.sequence == 1 else number // answers.sequence,
            position=number % answers.sequence,
            info=Info(np.full((len(lines), 1), np.nan, np.float32), nothing, nothing, nothing),
            seconds=np.array([line.seconds for line in lines]),
        )
        before, after = (
            pad_answers(questions, some) for some in ([answers.before[k] for k in number.tolist()], lines)
        )
        rows = rows_of_cases(cases, before, after, how, questions.names, columns)
        for row, line in zip(rows["cases"], lines, strict=True):
            row["fault"] = line.fault or row["fault"]
        write_rows(rows, folder, columns, stem)
    write_json(folder / "cost.json", {"elsewhere": True})


def _describe_strength(questions: Questions, answers: Answers) -> Iterator[str]:
    """How far requests were taken up, the object's stop included or not; and what was read singly."""
    ended, begun = [], []
    lines = answers.after["", 0]
    edited = [line for line in lines if not line.fault]
    for case, line in ((questions.cases[line.case], line) for line in edited):
        for choice, with_stop, without in zip(case.choices, line.ended, line.begun, strict=True):
            at = np.flatnonzero(choice.options == case.request.object)
            if (choice.subject, choice.relation, choice.phrasing) == (*case.request[:2], 0) and len(at):
                ended.append(with_stop[at[0]])
                begun.append(without[at[0]])
                break
    if ended:
        a, b = float(np.mean(ended)), float(np.mean(begun))
        yield f"the requested object after its edit: probability {b:.3f}, and {a:.3f} with the stop behind it"
        if b - a > STOP:
            yield (
                "the stop is learned less than the object: the editor may have been told the target without "
                "it; request['target_stopped'] and request['target_ids'] have it, and the metrics count it"
            )
    if len(edited) < len(lines):
        yield f"{len(lines) - len(edited)} of {len(lines)} edits failed; their causes are in the explorer"
    singly = sum(line.singly for line in edited)
    if singly:
        yield f"{singly} of {len(edited)} edited models read texts otherwise in batches: asked text by text"
