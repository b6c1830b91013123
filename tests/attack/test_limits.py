"""Numbers too large, files that never end, and names that a terminal or a shell would obey."""

import errno
import gzip
import os
import shlex
import time
from dataclasses import dataclass
from types import SimpleNamespace

import jax
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus.arrays import read_arrays
from corpus.errors import InputError
from lm import checkpoints
from lm.config import MeshConfig
from lm.mesh import make_mesh
from testbed import ask, corpus, edit, export, report, train, verify
from testbed.advice import command_for
from testbed.cells import cell_text, escape_controls
from testbed.console import print_table
from testbed.launch import run_command
from testbed.run.model import load_model
from testbed.run.runs import Run
from testbed.run.world import load_world
from tests.runs import EDITS, RECIPE, at, complaint, copied

SECONDS = 5
HOSTILE = "\x1b[2J\x1b]0;owned\x07 \u202e abc \x9b31m \u2028 \r"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("facts.tsv.gz", b"a\tb\tc\n"),
        # Whoever reads N-Triples takes ten seconds to give up, at 16 MiB.
        pytest.param("facts.nt.gz", b"<a> <b> <c> .\n", marks=pytest.mark.slow),
    ],
)
def test_a_packed_file_of_one_endless_line_is_refused(name, line, tmp_path, capsys):
    """40 MB here, 40 kB packed; it is given up at the longest line that any file may have."""
    path = tmp_path / name
    path.write_bytes(gzip.compress(line + b"x" * 40_000_000, 1))
    words = ["--runs", str(tmp_path), "--run", "x", "--world.source", "tsv", "--world.path", str(path)]
    assert corpus.main(words) == 2
    assert "longer than" in complaint(capsys)


@pytest.mark.parametrize(
    "value", ['"&a;&a;&a;"', 'SYSTEM "file:///etc/passwd"', f'"{"x" * 300}"', '"http://a/"']
)
def test_entities_of_entities_are_refused(value, tmp_path, capsys):
    """Eleven of them, each of ten others, took all memory and no interrupt; plain ones are fine."""
    path = tmp_path / "w.rdf"
    fact = '<rdf:Description rdf:about="&x;{0}"><e:p rdf:resource="&x;{1}"/><e:q rdf:resource="&x;{2}"/>'
    facts = "".join(f"{fact.format(i, i % 5, i % 3)}</rdf:Description>" for i in range(60))
    text = f"""<?xml version="1.0"?><!--{"x" * 10**5}-->
        <!DOCTYPE rdf:RDF [<!ENTITY a "a"><!ENTITY x {value} >]>
        <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://a/">{facts}</rdf:RDF>"""
    path.write_text(text, encoding="utf-8")
    code = corpus.main([*at(tmp_path), "--world.source", "tsv", "--world.path", str(path)])
    assert code == (0 if "http" in value else 2)
    assert code == 0 or f"'<!ENTITY x {value[:30]}" in complaint(capsys)


@pytest.mark.parametrize(
    ("command", "options", "said"),
    [
        (edit, ["--cases.count", "1000000000000"], "--cases.count should be at most 1,000,000"),
        (ask, ["Who", "--top", "1000000"], "--top should be at most 1,000; it is 1,000,000"),
        (train, ["--train.rows", "100000000"], "--train.rows should be at most 1,000,000"),
        (train, ["--train.row-length", "1000000000"], "--train.row-length should be at most 1,000,000"),
        (train, ["--train.steps", "10" * 9], "--train.steps should be at most 1,000,000,000"),
        (corpus, ["--world.subjects", "-10000000000"], "--world.subjects "),
        (corpus, ["--threads", "100000"], "--threads should be at most 4,096"),
    ],
)
def test_every_number_has_a_limit_in_its_message(command, options, said, capsys):
    began = time.perf_counter()
    with pytest.raises(SystemExit) as ended:
        command.main(options)
    assert ended.value.code == 2
    assert said in complaint(capsys)
    assert time.perf_counter() - began < SECONDS


def test_a_step_that_no_memory_holds_is_refused(built, tmp_path, capsys):
    runs = copied(built, tmp_path)
    huge = ["--train.rows", "1000000", "--train.row-length", "1000000"]
    assert train.main([*at(runs), *RECIPE, *huge]) == 2
    assert "choose smaller --model sizes or fewer --train.rows" in complaint(capsys)


@pytest.mark.parametrize("kind", ["parquet", "tsv.gz"])
def test_a_small_file_of_too_many_rows_is_refused(kind, tmp_path, capsys, monkeypatch):
    """The limit is lowered: what is shown is that rows are counted before they are kept."""
    monkeypatch.setattr("corpus.worlds.unpacked.MOST_ROWS", 1_000_000)
    path = tmp_path / f"rows.{kind}"
    if kind == "parquet":
        column = pa.DictionaryArray.from_arrays(pa.array([0] * 1_500_000, pa.int32()), pa.array(["same"]))
        pq.write_table(pa.table({"s": column, "r": column, "o": column}), path)
    else:
        path.write_bytes(gzip.compress(b"a\tb\tc\n" * 2_000_000, 1))
    assert path.stat().st_size < 2_000_000
    began = time.perf_counter()
    assert corpus.main([*at(tmp_path), "--world.source", "tsv", "--world.path", str(path)]) == 2
    assert "has more than 1,000,000 rows; write those that are wanted to a file" in complaint(capsys)
    assert time.perf_counter() - began < 2 * SECONDS


@pytest.mark.parametrize("what", ["pipe", "endless"])
@pytest.mark.parametrize("name", ["wikidata5m_all_triplet.txt", "wikidata5m_entity.txt"])
def test_files_that_never_end_are_refused(what, name, tmp_path, capsys):
    folder = tmp_path / "data"
    folder.mkdir()
    for other in ("wikidata5m_all_triplet.txt", "wikidata5m_entity.txt", "wikidata5m_relation.txt"):
        (folder / other).write_text("Q1\tP1\tQ2\n", encoding="utf-8")
    (folder / name).unlink()
    os.mkfifo(folder / name) if what == "pipe" else (folder / name).symlink_to("/dev/zero")
    began = time.perf_counter()
    assert corpus.main([*at(tmp_path), "--world.source", "wikidata", "--world.path", str(folder)]) == 2
    assert f"{name} is a pipe or a device" in complaint(capsys)
    assert time.perf_counter() - began < SECONDS


def test_a_terminal_obeys_nothing_that_data_says(finished, capsys):
    question = f"{HOSTILE} educated at"
    assert ask.main([question, *at(finished)]) == 2
    said = complaint(capsys)
    assert "\\x1b[2J" in said
    assert not set(said) & set("\x1b\x07\u202e\x9b\u2028\r")
    assert cell_text(HOSTILE) == escape_controls(HOSTILE) != HOSTILE
    for harmless in (
        "Ada Marlow",
        "\u05d3\u05d5\u05d3",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "a\nb",
    ):
        assert escape_controls(harmless) == harmless


def test_a_forged_name_is_quoted_in_what_is_to_be_pasted(built, tmp_path, capsys):
    runs = copied(built, tmp_path)
    forged = "x$(touch owned);y.json"
    (runs / "x" / "tuned" / "hase").mkdir(parents=True)
    (runs / "x" / "tuned" / "hase" / forged).write_text("{}", encoding="utf-8")
    assert verify.main(at(runs)) == 2
    printed = capsys.readouterr().out.replace("\n", "")
    assert shlex.quote("x$(touch owned);y") in printed.replace("  ", " ") or "'x$(touch" in printed
    words = shlex.split(command_for(Run(runs, "x"), "tune x$(touch owned);y"))
    assert "x$(touch owned);y" in words


@pytest.mark.usefixtures("blank_pictures")
def test_a_finished_run_that_is_read_only_is_shown_and_exported_elsewhere(
    finished, tmp_path, monkeypatch, capsys
):
    runs = copied(finished, tmp_path)
    files = {p: (p.stat().st_mtime_ns, p.stat().st_ino) for p in (runs / "x").rglob("*")}
    assert report.main([*at(runs), "--to", str(tmp_path / "page")]) == 0
    assert export.main([*at(runs), "--folder", str(tmp_path / "model")]) == 0
    assert files == {p: (p.stat().st_mtime_ns, p.stat().st_ino) for p in (runs / "x").rglob("*")}
    assert (tmp_path / "page" / "index.html").exists()
    assert (tmp_path / "model" / "model.safetensors").exists()

    def refuse(*_):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("testbed.commands.edit.write_record", refuse)
    capsys.readouterr()
    assert edit.main([*at(runs), *EDITS]) == 0
    said = capsys.readouterr().out.replace("\n", " ")
    assert "is read-only, so no summary is written there" in said
    assert "edits of" in said


def test_what_intervals_are_said_to_be(finished):
    text = (finished / "x" / "report" / "index.html").read_text(encoding="utf-8")
    reading = " ".join(text.split("How to read the tables")[1].split())
    assert "Intervals are over subjects or sequences, requested objects and worlds at once" in reading
    assert "bootstrap" not in reading


@dataclass(frozen=True)
class NoOptions:
    pass


def fails_with(error):
    def fail(_):
        raise error

    return run_command("nothing", "", NoOptions, fail, [])


LACKS = (
    MemoryError(),
    RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes."),
    RuntimeError("std::bad_alloc"),
    SystemError("<built-in method> returned NULL without setting an exception"),
    RuntimeError("can't start new thread"),
)


@pytest.mark.parametrize("error", LACKS, ids=str)
@pytest.mark.parametrize("is_cause", [False, True])
def test_whatever_lacks_memory_ends_in_one_message(error, is_cause, capsys):
    raised = ValueError("something else") if is_cause else error
    raised.__cause__ = error if is_cause else None
    assert fails_with(raised) == 2
    assert complaint(capsys) == "error: there is not enough memory for that; choose smaller numbers\n"


def test_a_mistake_is_no_lack_of_memory():
    with pytest.raises(RuntimeError, match="a mistake"):
        fails_with(RuntimeError("a mistake"))


def test_a_variable_with_which_jax_fails_is_named(monkeypatch, capsys):
    monkeypatch.setenv("JAX_NUMPY_RANK_PROMOTION", "raise")
    assert fails_with(ValueError("shapes, with the config option jax_numpy_rank_promotion='raise'.")) == 2
    assert "JAX_NUMPY_RANK_PROMOTION is 'raise' in the environment" in complaint(capsys)
    monkeypatch.delenv("JAX_NUMPY_RANK_PROMOTION")
    with pytest.raises(ValueError, match="shapes"):
        fails_with(ValueError("shapes, with the config option jax_numpy_rank_promotion='raise'."))


@pytest.mark.parametrize("error", [AssertionError(), RuntimeError("Unable to initialize backend")], ids=str)
def test_no_device_is_a_message(error, monkeypatch):
    def find_none():
        raise error

    monkeypatch.setattr(jax, "devices", find_none)
    with pytest.raises(InputError, match="unset JAX_PLATFORMS"):
        make_mesh(MeshConfig())


def test_a_checkpoint_that_no_memory_holds_is_not_called_another(finished, monkeypatch):
    """Before, the advice was to move all checkpoints away."""
    read = checkpoints.ocp.checkpointables_metadata
    run = Run(finished, "x")

    def read_in_part(path):
        return SimpleNamespace(metadata=read(path).metadata | {"step": None})

    monkeypatch.setattr(checkpoints.ocp, "checkpointables_metadata", read_in_part)
    with pytest.raises(InputError, match="too little memory") as refusal:
        load_model(run, load_world(run))
    assert "move" not in str(refusal.value)


def test_arrays_that_no_memory_holds_are_not_called_damaged(monkeypatch, tmp_path):
    def load(*_, **__):
        raise MemoryError("Unable to allocate 8 bytes")

    monkeypatch.setattr(np, "load", load)
    with pytest.raises(InputError, match="needs more memory than there is"):
        read_arrays(tmp_path / "graph.npz")


@pytest.mark.parametrize("columns", ["0", "1", "none", "-3"])
def test_a_terminal_of_no_width_still_shows_numbers(columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", columns)
    print_table("numbers", ("", "count"), [("a", 1234)])
    assert "1,234" in capsys.readouterr().out
