"""A scorecard on a frozen suite, beside that of known editors."""

import hashlib
import json
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import jax

from corpus.errors import InputError
from corpus.files import (
    CHECKSUMS,
    read_json,
    read_record,
    recover_folder,
    staged_folder,
    write_json,
    write_record,
)
from corpus.worlds.account import ACCOUNT
from testbed.cells import Shown
from testbed.commands.corpus import build_corpus
from testbed.commands.edit import (
    Jobs,
    JudgedCases,
    draw_with_agent,
    make_missing_edits,
    plan_jobs,
    recalibrate_model,
)
from testbed.commands.export import export
from testbed.commands.score import import_answers
from testbed.commands.train import train
from testbed.console import print_table, say
from testbed.engine.catalogue import editor_entries, whose_options
from testbed.engine.file_exchange.cases import hash_cases
from testbed.engine.integrity import hash_weights
from testbed.engine.results import read_results
from testbed.engine.trace import read_config
from testbed.engine.versions import hash_native
from testbed.evaluations.catalogue import evaluation_named
from testbed.exam_dataset import write_exam_card
from testbed.own import plain_name
from testbed.protocol import Case
from testbed.reference_answers import read_references
from testbed.run.lock import only_one, only_one_at
from testbed.run.model import load_model
from testbed.run.runs import ORIGIN, differing_settings, finished_training, fit_settings, provenance
from testbed.run.runtime import describe_device, prepare_jax
from testbed.run.world import World, load_world
from testbed.scorecard import (
    Measured,
    Scorecard,
    WorldResults,
    card_as_data,
    card_table,
    make_card,
    measure_editors,
)
from testbed.scores.card_format import ANSWERS, BOUND, CARD, FORMAT
from testbed.scores.recalibration import recalibrate_results
from testbed.scores.tables import format_cell, markdown_section
from testbed.scores.versions import select_versions
from testbed.settings import EditSettings, ExamineSettings, ExportSettings, ScoreSettings
from testbed.suite import LATEST, SUITES, Suite, SuiteWorld, read_suite

ORACLE = "oracle"


PAGE = "scorecard.md"
TWIN, TWIN_SECRET = "-twin", "twin.json"
"""What the name of a suite's private twin ends with, and the file of its secret among the runs."""


class Examined(NamedTuple):
    """An editor that is examined: what it is called, and its word on the command line."""

    name: str
    word: str

    @property
    def by_answers(self) -> bool:
        """Whether the word is a folder of answers."""
        return Path(self.word).is_dir()


def examine(options: ExamineSettings) -> None:
    """Make the suite where it is missing, edit, and write a scorecard for each editor.

    Raises:
        InputError: an editor that does not fit, answers that lack a world, or another world than the suite's.
    """
    if options.verify:
        from testbed.commands.leaderboard import Referee

        held = Referee(options.runs).check(options.verify)
        kind = "this project's editor" if held.is_native else "a guest"
        counts = [f"{held.made[f'rows surely {key}']} rows surely {key}" for key in ("better", "worse")]
        say(f"{options.verify} holds: {held.card.examined}, {kind}, {' and '.join(counts)} than no edit")
        return
    suite = find_suite(options.suite_name, options.runs, options.twin)
    editors = name_editors(options, suite.references)
    for editor in editors:
        check_answers(editor, suite.worlds)
    beside, about = read_references(suite) if not options.anew else ({}, {})
    for line in list_changed_references(about):
        say(f"{line}; --anew makes them again")
    # Those whose answers come with the suite are not run; the private twin is for the examined editor alone.
    running = () if beside or options.twin else suite.references
    results: dict[str, list[WorldResults]] = {name: [] for name in running}
    results |= {editor.name: [] for editor in editors}
    digests: dict[str, dict[str, Any]] = {}
    folders: dict[str, dict[str, Path]] = {name: {} for name in results}
    worlds = suite.worlds if results or options.export else []
    for number, world in enumerate(worlds, 1):
        say(f"world {number} of {len(worlds)}: {world.name}")
        if options.export and world.asks_texts:
            say("it asks for texts, which answers by files cannot have; it is left out")
            continue
        judged, digests[world.name] = prepare_world(world, options.twin)
        if options.twin:
            keep_twin(options.runs, world.name, digests[world.name])
        if options.export:
            cases_alone = world.edits.settings_of_cases()
            export(ExportSettings(**cases_alone, folder=options.export / world.name, with_cases=True))
            continue
        jobs = edit_world(world, running, editors, options, judged)
        for name, found in jobs.items():
            results[name].append(read_world(world, found))
            folders[name][world.name] = found.jobs[0].folder
    if options.export:
        asked = [world.name for world in worlds if not world.asks_texts]
        write_exam_card(options.export, asked, suite.rows, f"credence-testbed, {card_title(suite)}")
        which = "" if suite.name == LATEST else " --quick" if options.quick else f" --suite {suite.name}"
        say(f"answer every folder of {options.export} into one of the same name below answers, then")
        say(f"python -m testbed.examine answers --name my-editor{which}")
    else:
        report_cards(options, suite, editors, beside, results, digests, folders)


def list_changed_references(about: Mapping[str, Any]) -> Iterator[str]:
    """Which references have changed since their answers were written, in words."""
    entries = editor_entries()
    for name, version in about.get("versions", {}).items():
        if entries[name].version != version:
            yield f"{name} is version {entries[name].version} here; its numbers are of version {version}"


def find_suite(name: str, runs: Path, twin: bool = False) -> Suite:
    """A suite, or its private twin."""
    suite = read_suite(name, runs)
    if not twin:
        return suite
    if not (runs / TWIN_SECRET).exists():
        write_record(runs / TWIN_SECRET, {"secret": secrets.token_hex(16), "worlds": {}})
    record = read_record(runs / TWIN_SECRET)
    worlds = [one.draw_twin(record["secret"], record["worlds"].get(one.name, {})) for one in suite.worlds]
    return suite._replace(
        name=f"{name}{TWIN}", title=f"the private twin of {suite.title}", worlds=worlds, answers=""
    )


def keep_twin(runs: Path, name: str, digests: dict[str, Any]) -> None:
    """Freeze a world of the private twin as it was made first."""
    record = read_record(runs / TWIN_SECRET)
    if name not in record["worlds"]:
        write_record(runs / TWIN_SECRET, record | {"worlds": record["worlds"] | {name: digests}})


def name_editors(options: ExamineSettings, references: Sequence[str]) -> list[Examined]:
    """The editors that are examined; a reference may be among them."""
    folders = [word for word in options.editors if Path(word).is_dir()]
    if bool(folders) != bool(options.name) or len(folders) > 1:
        raise InputError("give one folder of answers with --name, and no --name without one")
    named = [
        Examined(options.name if word in folders else plain_name(word), word) for word in options.editors
    ]
    changed = [one.name for one in named if one.name in references and own_settings(options, one.name)]
    if changed:
        raise InputError(f"{changed[0]} stands on every card with its own settings; leave out its options")
    return named


def own_settings(options: ExamineSettings, editor: str) -> dict[str, Any]:
    """The hyper-parameters of an editor that are not the defaults; these are the same in all worlds."""
    key, defaults = whose_options(editor).options, ExamineSettings().configs
    config = options.configs.get(key)
    return {} if config is None or config == defaults.get(key) else {key: config}


def check_answers(editor: Examined, worlds: Sequence[SuiteWorld]) -> None:
    """See that a folder of answers has a folder for each world."""
    among = [world.name for world in worlds if not world.asks_texts]
    missing = [name for name in among if not (Path(editor.word) / name).is_dir()]
    if editor.by_answers and missing:
        raise InputError(f"{editor.word} has no folder {missing[0]}; answer every world of --export")


def prepare_world(world: SuiteWorld, may_be_new: bool = False) -> tuple[JudgedCases, dict[str, Any]]:
    """Make a world's corpus and model where they are missing; it is the suite's before anything is trained.

    Args:
        may_be_new: whether it need not be frozen yet.

    Returns:
        Its agent and cases; and what it is: digests, settings, weights and accuracy of its model.

    Raises:
        InputError: this machine has made another world than the suite's.
    """
    if not world.run.corpus.exists():
        build_corpus(world.corpus)
    made = load_world(world.run)
    judged = draw_with_agent(made, world.edits)
    digests = digest_world(world, made, judged[1])
    if world.frozen or not may_be_new:
        if not world.frozen:
            raise InputError(f"{SUITES} has no hashes of the world {world.name}")
        unlike = [key for key in BOUND if digests[key] != world.frozen[key]]
        unlike += unlike_settings(world.frozen["settings"], digests["settings"])
        if unlike:
            raise InputError(
                f"{world.run.folder} is not the frozen world {world.name} ({', '.join(unlike)}): "
                "move it away, and examine again with the code and requirements.lock of this version"
            )
    if not world.run.finished_file.exists():
        train(world.training)
    digests |= describe_model(world, made)
    compare_models(world, digests)
    return judged, digests


def edit_world(
    world: SuiteWorld,
    references: Sequence[str],
    editors: Sequence[Examined],
    options: ExamineSettings,
    judged: JudgedCases,
) -> dict[str, Jobs]:
    """By editor, its edits of a world: jobs with one job. An editor that cannot edit it is left out."""
    settings = world.edits
    by_editor = {}
    others = [one for one in editors if one.name not in references]
    for editor in (*(Examined(name, name) for name in references), *others):
        if not can_edit(editor.name, settings) or (editor.by_answers and world.asks_texts):
            continue
        if editor.by_answers:
            answers = Path(editor.word) / world.name
            by_editor[editor.name] = import_answers(
                ScoreSettings(**settings.settings_of_cases(), answers=answers, name=editor.name)
            )
            continue
        changed = own_settings(options, editor.word) if editor in others else {}
        own = replace(settings, editors=(editor.word,), configs=settings.configs | changed)
        by_editor[editor.name] = edit_by_one(own, judged)
        jax.clear_caches()
    return by_editor


def can_edit(editor: str, edits: EditSettings) -> bool:
    """Whether an editor has a number for some edits: the oracle is scored on questions it was not told of."""
    return editor != ORACLE or edits.chosen_evaluation.can_be_halved


def edit_by_one(settings: EditSettings, judged: JudgedCases) -> Jobs:
    """The edits of one editor, made where they are missing."""
    jobs = plan_jobs(settings)
    with only_one(jobs.run, "edit"):
        make_missing_edits(jobs, settings, judged)
        recalibrate_model(jobs, settings, judged)
    for job in jobs.jobs:
        shutil.rmtree(job.folder / "parts", ignore_errors=True)
    return jobs


def read_world(world: SuiteWorld, jobs: Jobs) -> WorldResults:
    """What one editor's edits came to; edits that left no numbers are failures, even where all are."""
    results = read_results(jobs.jobs[0].folder, jobs.columns, may_be_silent=True)
    evaluation = world.edits.chosen_evaluation
    return WorldResults(world.name, evaluation, recalibrate_results(results, jobs.temperatures))


def digest_world(world: SuiteWorld, made: World, cases: list[Case]) -> dict[str, Any]:
    """Hashes of the data of a world, its corpus and cases; and the settings of its edits."""
    return {
        "world": digest_data(world.run.world),
        "corpus": digest_data(world.run.corpus),
        "cases": hash_cases(made, cases)[:12],
        "settings": world.edits.settings_as_data(),
    }


def digest_data(folder: Path) -> str:
    """The hash of a staged folder but for records of how it was made, which gain a key with every option."""
    sums = {name: of for name, of in read_json(folder / CHECKSUMS).items() if name not in (ORIGIN, ACCOUNT)}
    return hashlib.sha256(json.dumps(sums, indent=1).encode()).hexdigest()[:12]


def describe_model(world: SuiteWorld, made: World) -> dict[str, Any]:
    """The hash of a model's weights, and the share of facts that it has learned."""
    prepare_jax()
    model, _ = load_model(world.run, made)
    accuracy = finished_training(world.run)["accuracy"]
    return {"weights": hash_weights(model.params)[:12], "accuracy": accuracy}


def compare_models(world: SuiteWorld, digests: Mapping[str, Any]) -> None:
    """Say whether a model is the suite's, and how many facts it has learned."""
    known = world.frozen
    accuracy = f"facts right {digests['accuracy']:.3f}"
    if "weights" not in known:
        say(f"the model of {world.name} is the first: the suite has no hash of its weights yet; {accuracy}")
    elif digests["weights"] == known["weights"]:
        say(f"the model of {world.name} is the suite's, bit for bit; {accuracy}")
    else:
        say(
            f"the model of {world.name} differs from the suite's in its last bits, as models of other "
            f"processors do ({known['device']}): {accuracy}, where the suite's has {known['accuracy']:.3f}"
        )


def unlike_settings(frozen: dict[str, Any], current: dict[str, Any]) -> list[str]:
    """The settings that are not those of the suite; one that is newer than the suite is at its default."""
    return differing_settings(fit_settings(frozen, current), current)


def report_cards(
    options: ExamineSettings,
    suite: Suite,
    editors: Sequence[Examined],
    beside: Measured,
    results: Mapping[str, list[WorldResults]],
    digests: dict[str, Any],
    folders: Mapping[str, Mapping[str, Path]],
) -> None:
    """Print the card of everybody, and write one of each examined editor beside the references.

    Args:
        beside: the answers of the references where these were not run.
    """
    title = card_title(suite)
    here = measure_editors(suite.rows, results)
    table = card_table(make_card(suite.rows, *(party for party in (beside, here) if party)), title)
    rows = [[Shown(format_cell(cell), cell) for cell in row] for row in (*table.rows, *table.foot)]
    print_table(table.title, table.header, rows)
    for name in (editor.name for editor in editors):
        mine = {who: of for who, of in here.items() if who in (*suite.references, name)}
        above = options.folder.with_name(f"{options.folder.name}-twin") if options.twin else options.folder
        folder = above / f"{name}-{options.suite_name}"
        card = make_card(suite.rows, *(party for party in (beside, mine) if party))
        write_card(folder, suite.name, name, card, title, digests, folders[name])
        say(f"{folder} {'is for you alone: it tells the secret' if options.twin else 'can be handed in'}")


def card_title(suite: Suite) -> str:
    """What stands above a card."""
    count = sum(world.edits.cases.count for world in suite.worlds)
    return f"{suite.title}: {count} edits by each editor"


def write_card(
    folder: Path,
    suite: str,
    name: str,
    card: Scorecard,
    title: str,
    digests: dict[str, Any],
    answers: Mapping[str, Path],
) -> None:
    """Write the folder that can be handed in: scorecard.json, scorecard.md, and all answers by world.

    Raises:
        InputError: the folder is another editor's.
    """
    configs = {world: read_config(path) for world, path in answers.items()}
    names_of = {
        what: {config["settings"][what]["name"] for config in configs.values()}
        for what in ("evaluation", "agent")
    }
    content = {
        "format": FORMAT,
        "suite": suite,
        "title": title,
        "examined": name,
        "methods": {world: config["method"] for world, config in configs.items()},
        "worlds": digests,
        **card_as_data(card),
        "versions": select_versions(
            {name: evaluation_named(name)() for name in names_of["evaluation"]}, names_of["agent"]
        ),
        "code": hash_native(name),
        "made_with": provenance() | {"device": describe_device()},
        "date": f"{date.today():%Y-%m-%d}",
    }
    with only_one_at(folder.parent):
        recover_folder(folder)
        if folder.exists() and (
            not (folder / CARD).exists() or read_json(folder / CARD)["methods"] != content["methods"]
        ):
            raise InputError(f"{folder} is of another editor; choose another --folder, or move it away")
        with staged_folder(folder) as aside:
            write_json(aside / CARD, content)
            (aside / PAGE).write_text(markdown_section(card_table(card, title)), encoding="utf-8")
            for world, path in answers.items():
                shutil.copytree(path, aside / ANSWERS / world)
