"""The trained model as Hugging Face's libraries open it."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from corpus.errors import InputError
from corpus.files import read_json, staged_folder, verify_folder, write_json
from corpus.text.store import open_documents
from corpus.text.tokenizer import find_unsure_stops, tokenizer_files
from lm.huggingface import export_model
from lm.language_model import LanguageModel
from testbed.advice import score_command
from testbed.commands.edit import draw_with_agent, take_whole_sequences
from testbed.console import print_table, say, show_progress
from testbed.engine.file_exchange.cases import CASES, DOOR, write_cases
from testbed.engine.questions import Questions
from testbed.engine.trace import inputs_of
from testbed.gold_dataset import configurations_of, describe_dataset, make_split
from testbed.open_run import OpenRun
from testbed.run.lock import only_one, only_one_at
from testbed.run.model import load_trained
from testbed.run.pretrained import export_to_readers
from testbed.run.runs import Run, folder_digest
from testbed.run.world import World, load_world
from testbed.settings import ExportSettings
from testbed.waiting import doing

CARD = """\
---
license: mit
language: en
configs:
- config_name: default
  data_files: train.parquet
---

Documents of a world of facts, as text and as ids of the tokenizer beside them. Written by `python -m
testbed.export --corpus` of credence-testbed.
"""
ORIGIN = "origin.json"
STOPS_SHOWN = 5


def export(options: ExportSettings) -> None:
    """Write a run's checkpoint, configuration and tokenizer as one folder, and print how to open it.

    With an edit, the edited model is written in place of the run's.

    With cases, all that `testbed.engine.file_exchange.door` needs to edit and ask it stands beside. Does
    nothing where the folder holds the same already. With gold, a dataset of the agent's beliefs is written
    instead.

    Raises:
        InputError: a run without a trained model, names that the files cannot tell apart, or a folder
            with something else in it.
    """
    if options.gold or options.corpus:
        (export_gold if options.gold else export_corpus)(options)
        return
    if options.edit:
        export_edited(options)
        return
    doing("loading world and model")
    run, world, model, checkpoint = load_trained(options.runs, options.run, options.checkpoint)
    folder = options.folder or run.folder / ("door" if options.with_cases else "huggingface")
    origin = {"checkpoint": folder_digest(checkpoint), "corpus": folder_digest(run.corpus)}
    if not folder.exists():
        lock = (
            only_one_at(folder.with_name(f".{folder.name}.lock"))
            if options.folder
            else only_one(run, "export")
        )
        with lock:
            if options.with_cases:
                export_model(model, folder, tokenizer_files(world.tokenizer) | {ORIGIN: origin})
            else:
                export_to_readers(model, world.tokenizer, folder, {ORIGIN: origin})
    elif (folder / ORIGIN).exists() and read_json(folder / ORIGIN) == origin:
        verify_folder(folder)
        say(f"{folder} holds this checkpoint already")
    else:
        raise InputError(f"{folder} holds something else; choose another --folder, or move it away")

    files = ("config.json", "model.safetensors", "tokenizer.json")
    sizes = [(name, (folder / name).stat().st_size) for name in files]
    print_table(f"{checkpoint.name} of {run.folder}, {model.vocabulary:,} tokens", ("file", "bytes"), sizes)
    unsure = find_unsure_stops(world.tokenizer)
    if unsure:
        names = ", ".join(map(repr, unsure[:STOPS_SHOWN])) + (", ..." if len(unsure) > STOPS_SHOWN else "")
        say(f"{len(unsure)} names may hide the end of a sentence when documents are encoded: {names}")
    _say_how_to_open(folder)
    if options.with_cases:
        export_cases(options, run, world, model, checkpoint, folder)


def export_edited(options: ExportSettings) -> None:
    """Make an edit, write the edited model, and print its answers and how to open it.

    Raises:
        InputError: an unknown name, an edit that is none of weights, or a folder that is there already.
    """
    doing(f"editing by {options.editor}")
    run = OpenRun(Run(options.runs, options.run), options.agent, options.checkpoint)
    edited = run.edit(options.editor, options.edit, options.cases.credence, seed=options.seed)
    folder = edited.export(options.folder or run.run.folder / "edited")
    edited.ask().print()
    _say_how_to_open(folder)


def _say_how_to_open(folder: Path) -> None:
    say("from transformers import AutoModelForCausalLM as M, AutoTokenizer as T")
    say(f"model, tokenizer = M.from_pretrained({str(folder)!r}), T.from_pretrained({str(folder)!r})")


def export_cases(
    options: ExportSettings,
    run: Run,
    world: World,
    model: LanguageModel | None,
    checkpoint: Path | None,
    folder: Path,
) -> None:
    """Write cases beside an exported model, or beside the corpus for a model that is trained elsewhere.

    Raises:
        InputError: the folder holds others.
    """
    made_from = {"inputs": inputs_of(run, checkpoint), "settings": options.settings_as_data()}
    if (folder / DOOR).exists():
        exported = read_json(folder / DOOR)
        if {key: exported.get(key) for key in made_from} != made_from:
            raise InputError(f"{folder} holds other cases; choose another --folder, or move it away")
        say(f"{folder} holds these cases already")
    else:
        cases = take_whole_sequences(draw_with_agent(world, options)[1], options)
        longest = Questions(world, model, cases, options.seed).names.longest
        write_cases(world, cases, options.sequence, longest, made_from, folder)
    count = len((folder / CASES).read_text(encoding="utf-8").splitlines())
    say(f"{count} cases: copy {folder / 'door.py'} beside your editor, and from a script of yours")
    own = "" if model else ", model=model"
    say(f"from door import examine; examine(edit, {str(folder)!r}, 'answers'{own})")
    say(score_command(run, options.settings_as_data()) + ("" if model else " --own-model"))


def export_corpus(options: ExportSettings) -> None:
    """Write the documents of a run and their tokenizer, and print how to open them.

    Raises:
        InputError: there is no such run, or the folder is there already.
    """
    run = Run(options.runs, options.run)
    world, folder = load_world(run), options.folder or run.folder / "text"
    if not folder.exists():
        with staged_folder(folder) as aside:
            documents = open_documents(run.corpus)
            rows = np.split(np.asarray(documents.tokens), documents.offsets[1:-1])
            table = {
                "text": pa.array([world.tokenizer.decode(row) for row in rows]),
                "input_ids": pa.array(rows, pa.list_(pa.int32())),
            }
            pq.write_table(pa.table(table), aside / "train.parquet")
            for name, content in tokenizer_files(world.tokenizer).items():
                write_json(aside / name, content)
            (aside / "README.md").write_text(CARD, encoding="utf-8")
    elif not (folder / "train.parquet").exists():
        raise InputError(f"{folder} holds something else; choose another --folder, or move it away")
    say(f"from datasets import load_dataset; load_dataset({str(folder)!r}, split='train')")
    say(f"from transformers import AutoTokenizer; AutoTokenizer.from_pretrained({str(folder)!r})")
    if options.with_cases:
        export_cases(options, run, world, None, None, folder)


def export_gold(options: ExportSettings) -> None:
    """Write what the agent believes of every question of some worlds, and print how to open it.

    Raises:
        InputError: there is no such run, or the folder is there already.
    """
    runs = [Run(options.runs, name) for name in dict.fromkeys((options.run, *options.and_runs))]
    folder = options.folder or runs[0].folder / "gold"
    if folder.exists():
        raise InputError(f"{folder} is there already; choose another --folder, or move it away")
    splits = []
    with show_progress("gold", len(runs)) as advance:
        for run in runs:
            splits.append(make_split(run, options))
            advance(1)
    names = [split.name for split in splits]
    if len(set(names)) < len(names):
        raise InputError(f"worlds need names of their own; they are {', '.join(names)}")
    with staged_folder(folder) as aside:
        for config in configurations_of(splits):
            (aside / config).mkdir()
            for split in splits:
                pq.write_table(split.tables[config], aside / config / f"{split.name}.parquet")
        (aside / "README.md").write_text(describe_dataset(splits), encoding="utf-8")
    tables = ("facts", "cases", "choices", "claims")
    rows = [(split.name, *(len(split.tables[table]) for table in tables)) for split in splits]
    print_table(f"gold of {folder}", ("split", *tables), rows)
    say("from datasets import load_dataset")
    say(f"load_dataset({str(folder)!r}, 'choices', split={splits[0].name!r})")
