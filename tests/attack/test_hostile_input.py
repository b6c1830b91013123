"""Labels that look like instructions, files that are no files, and numbers that lie about other files."""

import io
import json
import os
import shutil
import tarfile
import threading

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from corpus.errors import InputError
from corpus.files import CHECKSUMS, seal_folder
from corpus.text.store import open_documents
from corpus.worlds.rawfiles import find_sources
from corpus.worlds.wikidata import read_folder
from lm.huggingface import import_model
from testbed import ask, console, corpus, edit, export, report, train
from testbed.pages.charts import draw_lines
from testbed.run.runs import Run
from testbed.run.world import load_world
from testbed.scores.statistics import Estimate
from tests.runs import at, complaint, copied

HOSTILE = ("[red]Band", ":smile:", "[/bold]", "$x_", "\\frac{", "$\\undefined$", "%s {0}", "<b>&amp;")


def test_labels_are_printed_as_they_are(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    for name in HOSTILE:
        console.say(name)
        console.print_table(name, (name, name), [(name, name)])
        with console.show_progress(name, 1) as advance:
            advance(1, name)
        shown = capsys.readouterr().out
        assert shown.count(name) >= 6, name


def test_labels_are_drawn_as_they_are(tmp_path):
    panels = {name: {name: [Estimate(0.5, 0.4, 0.6, 9, 9)]} for name in HOSTILE}
    draw_lines(panels, [HOSTILE[3]], *HOSTILE[3:5], tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 1000


def hostile_table(path):
    """A world whose every label is an instruction to somebody, and in which one relation follows another."""
    rng = np.random.default_rng(0)
    lines = []
    for i in range(60):
        who, band = f"{HOSTILE[i % len(HOSTILE)]} {i}", int(rng.integers(8))
        lines += [f"{who}\t[red]plays in $x_\t{HOSTILE[band]} {band}"]
        lines += [f"{who}\t:smile: [/bold] sings\t{HOSTILE[-band]} of {band}"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_hostile_labels_go_all_the_way(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "250")
    hostile_table(tmp_path / "w.tsv")
    source = ["--world.source", "tsv", "--world.path", str(tmp_path / "w.tsv")]
    assert corpus.main([*at(tmp_path), *source, "--world.min-pair-subjects", "10", "--stats"]) == 0
    assert "[red]plays in $x_" in capsys.readouterr().out
    assert ask.main(["--structure", *at(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "[red]plays in $x_" in shown
    assert ":smile: [/bold] sings" in shown


@pytest.mark.slow
def test_hostile_labels_reach_the_report(tmp_path, capsys):
    hostile_table(tmp_path / "w.tsv")
    source = ["--world.source", "tsv", "--world.path", str(tmp_path / "w.tsv")]
    assert corpus.main([*at(tmp_path), *source, "--world.min-pair-subjects", "10"]) == 0
    assert train.main([*at(tmp_path), "--train.steps", "30"]) == 0
    assert edit.main([*at(tmp_path), "--cases.count", "8"]) == 0
    assert report.main(at(tmp_path)) == 0
    assert (tmp_path / "x" / "report" / "hase" / "edit-lora-down.svg").exists()


def pipe(path):
    """A pipe that nobody writes to; opening it would wait for ever."""
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("name", ["w.tsv", "w.csv", "w.parquet", "w.nt", "w.tsv.gz"])
def test_pipes_are_refused_and_not_waited_for(name, tmp_path, capsys):
    source = ["--world.source", "tsv", "--world.path", str(pipe(tmp_path / name))]
    assert ends(lambda: corpus.main([*at(tmp_path), *source])) == 2
    assert "is a pipe or a device" in complaint(capsys)


def test_pipes_of_models_are_refused(tmp_path):
    pipe(tmp_path / "config.json")
    with pytest.raises(InputError, match="is a pipe or a device"):
        ends(lambda: import_model(tmp_path))


def ends(work, seconds=30):
    """What some work returns or raises, unless it takes for ever."""
    ending = []

    def run():
        try:
            ending.append((work(), None))
        except BaseException as error:
            ending.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert ending, "it hangs"
    if ending[0][1] is not None:
        raise ending[0][1]
    return ending[0][0]


def test_an_archive_with_a_folder_of_a_files_name(tmp_path):
    contents = {
        "x_all_triplet.txt": b"Q1\tP1\tQ2\n",
        "x_entity.txt": b"Q1\tA\nQ2\tB\n",
        "x_relation.txt": b"P1\tr\n",
    }
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        for name, content in contents.items():
            folder = tarfile.TarInfo(name)
            folder.type = tarfile.DIRTYPE
            archive.addfile(folder)
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    assert len(find_sources(tmp_path, "_entity.txt")) == 1
    assert read_folder(tmp_path).triples.tolist() == [[1, 1, 2]]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers_are_refused(value, finished, tmp_path, capsys):
    assert export.main([*at(finished), "--folder", str(tmp_path / "m")]) == 0
    path = tmp_path / "m" / "model.safetensors"
    tensors = load_file(path)
    name = sorted(tensors)[-1]
    tensors[name].flat[3] = value
    save_file(tensors, path, metadata={"format": "pt"})
    with pytest.raises(InputError, match=f"{name} holds NaN or infinity"):
        import_model(tmp_path / "m")


def resealed(folder):
    """Checksums as if everything had been written so."""
    listed = json.loads((folder / CHECKSUMS).read_text(encoding="utf-8"))
    seal_folder(folder, listed)


def forged(path, **changes):
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **arrays | {name: change(arrays[name]) for name, change in changes.items()})


def outside(x):
    return np.where(np.arange(x.size).reshape(x.shape) == x.size - 1, 10**6, x).astype(x.dtype)


FORGED = {
    "object": ("world/graph.npz", {"object": outside}),
    "subject": ("world/graph.npz", {"subject": outside}),
    "negative": ("world/graph.npz", {"object": lambda x: -x - 1}),
    "upstream": ("world/graph.npz", {"upstream": outside}),
    "floats": ("world/graph.npz", {"relation": lambda x: x.astype(float)}),
    "shorter": ("world/graph.npz", {"object": lambda x: x[:-1]}),
    "candidates": ("world/graph.npz", {"candidate_offsets": lambda x: x + 1}),
    "table": ("world/generative.npz", {"table": outside}),
    "probability": ("world/generative.npz", {"probability": lambda x: x * np.nan}),
    "atom": ("corpus/sentences.npz", {"a": outside}),
    "kind": ("corpus/sentences.npz", {"kind": lambda x: x + 90}),
    "about": ("corpus/sentences.npz", {"about": outside}),
}


@pytest.mark.parametrize("what", FORGED)
def test_forged_ids_and_sizes_are_refused(what, built, tmp_path):
    name, changes = FORGED[what]
    path = copied(built, tmp_path) / "x" / name
    forged(path, **changes)
    resealed(path.parent)
    origin = tmp_path / "x" / "corpus" / "origin.json"
    with pytest.raises(InputError, match="do not fit together"):
        load_world(Run(rewired(tmp_path, origin), "x"))


def rewired(runs, origin):
    """A corpus that says it was written about the world that is there."""
    from testbed.run.runs import folder_digest

    told = json.loads(origin.read_text(encoding="utf-8"))
    origin.write_text(json.dumps(told | {"world": folder_digest(runs / "x" / "world")}), encoding="utf-8")
    resealed(runs / "x" / "corpus")
    return runs


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("counts.json", {"dtype": "float64"}),
        ("counts.json", {"dtype": "nothing"}),
        ("counts.json", {"tokens": 10**15}),
        ("counts.json", {"documents": 3}),
        ("counts.json", {"vocabulary": 2}),
    ],
)
def test_forged_documents_are_refused(name, change, built, tmp_path):
    folder = copied(built, tmp_path) / "x" / "corpus"
    told = json.loads((folder / name).read_text(encoding="utf-8"))
    (folder / name).write_text(json.dumps(told | change), encoding="utf-8")
    with pytest.raises(InputError, match=r"holds no documents|is not what"):
        open_documents(folder)


def test_arrays_that_claim_a_size_they_have_not(built, tmp_path):
    folder = copied(built, tmp_path) / "x" / "corpus"
    shutil.copy(folder / "sentences.npz", tmp_path / "whole.npz")
    raw = bytearray((tmp_path / "whole.npz").read_bytes())
    at_shape = raw.find(b"'shape': (")
    raw[at_shape + 10 : at_shape + 13] = b"999"
    (folder / "sentences.npz").write_bytes(raw)
    resealed(folder)
    with pytest.raises(InputError):
        load_world(Run(tmp_path, "x"))


@pytest.mark.parametrize(
    "dial",
    [
        ["--world.subjects", "1000000000"],
        ["--world.builtin.upstream-objects", "1000000000"],
        ["--documents.reshuffles", "1000000000"],
        ["--exact.statements", "1000000000", "--kind", "exact"],
    ],
)
def test_dials_that_would_build_for_hours_are_refused_with_a_reason(dial, tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        ends(lambda: corpus.main([*at(tmp_path), *dial]))
    assert stop.value.code == 2
    assert "at most" in " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert not (tmp_path / "x").exists()


def test_a_model_that_no_memory_holds_is_refused(built, tmp_path, capsys):
    assert train.main([*at(copied(built, tmp_path)), "--model.hidden", "1000000"]) == 2
    assert "GB" in complaint(capsys)
