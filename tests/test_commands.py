"""The commands as a user runs them, on a tiny world: results, resuming, and every kind of bad input."""

import hashlib
import json
import re
import shutil
from itertools import pairwise
from pathlib import Path

import jax
import numpy as np
import pyarrow.parquet as pq
import pytest

from corpus.files import read_record, staged_folder, write_record
from corpus.text.language import Kind
from lm.huggingface import import_model
from testbed import ask, corpus, demo, edit, export, report, train
from testbed.commands import demo as demonstration
from testbed.engine.records import TABLES
from testbed.engine.results import read_results
from testbed.run.model import load_model
from testbed.run.runs import Run, folder_digest, provenance
from testbed.run.world import load_world
from tests.edited import COLUMNS
from tests.runs import EDITS, RECIPE, WORLD, at, complaint, copied, dies, run_on_full_disk, said_within

MIXED = ["--documents.mix", "mixed", "--documents.imagine", "0.2", "--documents.revise", "0.1"]


def edits_of(runs):
    (folder,) = (runs / "x" / "edits" / "hase").iterdir()
    return folder


def test_a_run_holds_everything(finished):
    run = finished / "x"
    config = json.loads((run / "config.json").read_text(encoding="utf-8"))
    assert config["corpus"]["settings"]["world"]["subjects"] == 30
    assert config["train"]["settings"]["train"]["steps"] == 30
    assert config["train"]["made_with"]["jax"] == jax.__version__
    lines = (run / "lm" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["step"] for line in lines] == [10, 20, 30]
    summary = json.loads((edits_of(finished) / "summary.json").read_text(encoding="utf-8"))
    assert summary["subsets"]["all"]["lora-down"]["success"]["cases"] == 11
    made = json.loads((edits_of(finished) / "config.json").read_text(encoding="utf-8"))
    assert set(made["inputs"]) == {"world", "corpus", "checkpoint"}
    assert set(made["method"]) == {"editor", "settings", "version"}
    assert set(made["versions"]) == {"cases", "agent", "asking", "model"}
    assert made["made_with"]["revision"]
    assert made["settings"]["cases"]["count"] == 11
    assert made["settings"]["evaluation"]["name"] == "hase"
    assert not list(run.rglob("*.partial"))
    files = {p.relative_to(run / "report") for p in (run / "report").rglob("*") if p.is_file()}
    names = {str(path) for path in files if path.parts[0] != "explorer"}
    assert {"explorer/index.html", "explorer/hase.js"} <= {path.as_posix() for path in files}
    pictures = {"before", "support", "propagation", "harm", "frontier-flops", "frontier-seconds"}
    pictures = {"training.svg", *(f"hase/{name}.svg" for name in pictures), "hase/edit-lora-down.svg"}
    assert names == {"index.html", "summary.csv", "summary.md", "summary.tex", "sha256.json"} | pictures
    page = (run / "report" / "index.html").read_text(encoding="utf-8")
    assert page.count('src="data:image/') == len(pictures) + 1, "the edit is shown twice"
    assert 'src="http' not in page


def test_the_model_learned_and_the_edits_were_scored(finished):
    run = Run(finished, "x")
    world = load_world(run)
    model, _ = load_model(run, world)
    assert model.config.hidden == 32
    results = read_results(edits_of(finished), COLUMNS)
    assert len(results) == 11
    choices = results.choices
    first = choices.role == "s1r1"
    wanted = results.cases["object"][choices.case]
    at_request = choices.options == wanted[:, None]
    before, after = ((choices.lm[:, t] * at_request).sum(-1)[first] for t in (0, 1))
    assert len(before) == 11
    assert (after > before).mean() > 0.8
    assert (choices.lm.sum(-1) <= 1 + 1e-4).all()
    answers = [(choices.lm_answer[:, t] == wanted)[first].mean() for t in (0, 1)]
    assert answers[1] > answers[0]


def test_commands_that_are_done_do_nothing_and_are_quick(finished):
    files = {p: p.stat().st_mtime_ns for p in (finished / "x").rglob("*") if p.suffix in (".bin", ".parquet")}
    assert "already" in said_within(1.5, "testbed.corpus", *at(finished), *WORLD)
    assert "resuming at step 30" in said_within(2.5, "testbed.train", *at(finished), *RECIPE)
    assert "already" in said_within(3, "testbed.edit", *at(finished), *EDITS)
    assert files == {p: p.stat().st_mtime_ns for p in files}


KINDS = (
    (["--kind", "exact", "--exact.statements", "16"], {"resolution.npz"}),
    (["--kind", "exact", "--exact.persistence", "sentence"], {"resolution.npz"}),
    (MIXED, set()),
)


@pytest.mark.parametrize(("kind", "files"), KINDS)
def test_every_kind_of_corpus_is_written_whole(kind, files, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert corpus.main([*at(tmp_path), *WORLD, *kind, "--stats"]) == 0
    shown = capsys.readouterr().out
    assert "sentences (Table 6)" in shown
    assert ("certified" in shown) == ("exact" in kind)
    assert ("nobody's true fact" in shown) == ("exact" not in kind)
    written = {p.name for p in (tmp_path / "x" / "corpus").iterdir()}
    common = {"chosen.npz", "documents.npz", "sentences.npz", "further_sentences.npz", "tokens.bin"}
    assert files | common <= written
    assert (load_world(Run(tmp_path, "x")).chosen is None) == ("exact" in kind)


@pytest.mark.slow
@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.parametrize("kind", [KINDS[0][0], MIXED], ids=["exact", "mixed"])
def test_a_corpus_goes_all_the_way_with_both_agents(kind, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert corpus.main([*at(tmp_path), *WORLD, *kind]) == 0
    assert train.main([*at(tmp_path), *RECIPE]) == 0
    capsys.readouterr()
    assert edit.main([*at(tmp_path), *EDITS]) == 0
    assert "the standard is the paper's agent (approximation" in capsys.readouterr().out
    for request in ("evidence", "correction", "do"):
        exact = ["--agent", "exact", "--hase.request", request, "--cases.count", "5"]
        assert edit.main([*at(tmp_path), *EDITS, *exact]) == 0
        exactness = "exact up to" if "exact" in kind else "approximation"
        assert f"the standard is the exact agent ({exactness}" in capsys.readouterr().out
    assert report.main(at(tmp_path)) == 0
    assert "The standard is the exact agent" in (tmp_path / "x" / "report" / "index.html").read_text()


def test_threads_and_stats_change_nothing(built, capsys):
    files = {p: p.read_bytes() for p in (built / "x").rglob("*") if p.is_file()}
    assert corpus.main([*at(built), *WORLD, "--threads", "1", "--stats"]) == 0
    assert files == {p: p.read_bytes() for p in files}


def test_a_damaged_world_is_noticed_before_a_corpus_is_written_about_it(built, tmp_path, capsys):
    copied(built, tmp_path)
    shutil.rmtree(tmp_path / "x" / "corpus")
    graph = tmp_path / "x" / "world" / "graph.npz"
    graph.write_bytes(graph.read_bytes()[:100])
    assert corpus.main([*at(tmp_path), *WORLD]) == 2
    assert "checksum" in complaint(capsys)
    assert not (tmp_path / "x" / "corpus").exists()


def test_some_kinds_of_sentence_only(tmp_path):
    """What is left out is in no document and in no agent's evidence; what stays is as it was."""
    assert corpus.main([*at(tmp_path, "all"), *WORLD]) == 0
    assert corpus.main([*at(tmp_path, "some"), *WORLD, "--documents.sentences", "atomic", "or"]) == 0
    everything, some = (load_world(Run(tmp_path, name)).sentences for name in ("all", "some"))
    kept = everything.take(np.isin(everything.kind, [Kind.ATOMIC, Kind.OR]))
    for column in ("kind", "label", "about", "a", "b"):
        np.testing.assert_array_equal(getattr(some, column), getattr(kept, column))


@pytest.mark.slow
@pytest.mark.parametrize("packing", ["stream", "document"])
def test_every_packing_trains(packing, built, tmp_path):
    copied(built, tmp_path)
    assert train.main([*at(tmp_path), *RECIPE, "--train.packing", packing, "--train.steps", "10"]) == 0


def test_a_run_of_an_older_version_is_refused(built, tmp_path, capsys):
    copied(built, tmp_path)
    world = tmp_path / "x" / "world"
    with np.load(world / "graph.npz") as arrays:
        kept = {key: value for key, value in arrays.items() if "candidate" not in key}
    shutil.rmtree(world)
    shutil.copytree(built / "x" / "world", tmp_path / "old")
    with staged_folder(world) as aside:
        for name in ("names.json", "generative.npz"):
            shutil.copy(tmp_path / "old" / name, aside / name)
        np.savez(aside / "graph.npz", **kept)
    origin = tmp_path / "x" / "corpus"
    shutil.rmtree(origin)
    assert corpus.main([*at(tmp_path), *WORLD]) == 2
    assert "older version" in complaint(capsys)


def test_ask(finished, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    question = ["Ada Marlow educated at", "--edit", "Ada Marlow educated at = Quintal College"]
    assert ask.main([*question, *at(finished)]) == 0
    out = capsys.readouterr().out
    assert "edited agent" in out
    assert "Ada Marlow occupation" in out
    assert "0.95 Quintal College" in out
    assert "the agent is the paper's agent (approximation" in out
    exact = ["--agent", "exact", "--request", "do"]
    assert ask.main([*question, *exact, *at(finished)]) == 0
    out = capsys.readouterr().out
    assert "1.00 Quintal College" in out
    assert "the agent is the exact agent (approximation: a published corpus" in out


def test_ask_for_the_structure(built, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert ask.main(["--structure", *at(built)]) == 0
    out = capsys.readouterr().out
    assert "which relation depends on which" in out
    assert len([line for line in out.splitlines() if line.strip().startswith("occupation")]) == 1
    assert "dependent facts persist with probability" in out


@pytest.mark.slow
def test_ask_for_what_the_model_believes_of_its_world(finished, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "250")
    assert ask.main(["--beliefs", "--top", "2", *at(finished)]) == 0
    out = capsys.readouterr().out
    lines = [line.strip() for line in out.splitlines()]
    world = load_world(Run(finished, "x"))
    first = lines.index("which relation depends on which")
    for relation, up in zip(world.graph.relations, world.graph.upstream.tolist(), strict=True):
        (row,) = (line for line in lines[first:] if re.match(f"{relation} +[0-9]+ ", line))
        assert row.endswith(world.graph.relations[up] if up >= 0 else "nothing")
    assert "the 2 rows of most subjects" in lines


def test_export(finished, tmp_path, capsys):
    runs = copied(finished, tmp_path)
    assert export.main(at(runs)) == 0
    out = capsys.readouterr().out
    assert "model.safetensors" in out
    folder = runs / "x" / "huggingface"
    assert f"M.from_pretrained('{folder}'), T.from_pretrained('{folder}')" in out
    model, _ = load_model(Run(runs, "x"), load_world(Run(runs, "x")))
    again = import_model(folder)
    jax.tree.map(np.testing.assert_array_equal, again.params, model.params)
    files = {p: p.read_bytes() for p in folder.iterdir()}
    assert {"tokenizer.json", "generation_config.json", "origin.json", "sha256.json"} < {
        p.name for p in files
    }
    assert export.main(at(runs)) == 0
    assert "holds this checkpoint already" in capsys.readouterr().out
    other = next(p for p in sorted((runs / "x" / "lm" / "checkpoints").iterdir()))
    (other / "measured.json").write_text('{"lines": [{"step": 1, "accuracy": 2.0}]}', encoding="utf-8")
    sums = json.loads((other / "sha256.json").read_text(encoding="utf-8"))
    sums["measured.json"] = hashlib.sha256((other / "measured.json").read_bytes()).hexdigest()
    (other / "sha256.json").write_text(json.dumps(sums, indent=1), encoding="utf-8")
    told = read_record(runs / "x" / "lm" / "finished.json")
    step = int(other.name)
    best = {"best_step": step, "checkpoints": told["checkpoints"] | {str(step): folder_digest(other)}}
    write_record(runs / "x" / "lm" / "finished.json", told | best)
    assert export.main([*at(runs), "--checkpoint", "best"]) == 2
    assert f"{folder} holds something else" in complaint(capsys)
    assert export.main([*at(runs), "--checkpoint", "best", "--folder", str(tmp_path / "best")]) == 0
    assert not np.array_equal(import_model(tmp_path / "best").params["embedding"], model.params["embedding"])
    assert files == {p: p.read_bytes() for p in folder.iterdir()}
    assert export.main([*at(runs), "--folder", str(tmp_path)]) == 2
    assert "holds something else" in complaint(capsys)
    (folder / "model.safetensors").write_bytes(b"")
    assert export.main(at(runs)) == 2
    assert "differs from its checksum" in complaint(capsys)


def test_the_demo_runs_every_stage(tmp_path, monkeypatch):
    seen = []
    for name in ("build_corpus", "train", "edit", "ask", "report"):
        monkeypatch.setattr(demonstration, name, lambda settings, name=name: seen.append((name, settings)))
    assert demo.main(["tiny", *at(tmp_path), "--seed", "3"]) == 0
    assert [name for name, _ in seen] == ["build_corpus", "train", "edit", "ask", "report"]
    assert all(settings.run == "x" and settings.runs == tmp_path for _, settings in seen)
    assert all(settings.seed == 3 for _, settings in seen[:4])


@pytest.mark.slow
def test_edits_killed_and_resumed_are_the_same(finished, tmp_path):
    runs = copied(finished, tmp_path)
    shutil.rmtree(runs / "x" / "edits")
    edits = runs / "x" / "edits"
    dies("after", "000002-cases.parquet", "testbed.edit", *at(runs), *EDITS, "--batch-edits", "1")
    assert not list(edits.glob("hase/*/cases.parquet"))
    assert edit.main([*at(runs), *EDITS, "--batch-edits", "1"]) == 0
    other = copied(finished, tmp_path / "whole")
    shutil.rmtree(other / "x" / "edits")
    assert edit.main([*at(other), *EDITS, "--batch-edits", "1"]) == 0
    for name in TABLES:
        mine, theirs = (pq.read_table(edits_of(r) / f"{name}.parquet") for r in (runs, other))
        if name == "cases":
            # How long an edit took is never the same.
            mine, theirs = (table.drop_columns("seconds") for table in (mine, theirs))
        assert mine.equals(theirs), name


@pytest.mark.parametrize(
    ("command", "args", "message"),
    [
        (
            corpus,
            ["--world.source", "tsv", "--world.path", "/no/such.tsv"],
            "No such file or directory (/no/such.tsv)",
        ),
        (corpus, ["--world.source", "wikidata", "--world.path", "/no/such"], "no such folder"),
        (train, [], "has no corpus stage yet; run python -m testbed.corpus --run x --runs "),
        (edit, [], "has no corpus stage yet"),
        (report, [], "has no corpus stage yet"),
        (ask, ["Ada Marlow educated at"], "has no corpus stage yet"),
        (export, [], "has no corpus stage yet"),
    ],
)
def test_things_that_are_missing(command, args, message, tmp_path, capsys):
    assert command.main([*args, *at(tmp_path)]) == 2
    assert message in complaint(capsys)
    assert not (tmp_path / "x").exists()


def test_a_run_is_not_overwritten_by_other_settings(finished, capsys):
    before = (finished / "x" / "config.json").read_bytes()
    assert corpus.main([*at(finished), *WORLD, "--seed", "5"]) == 2
    assert "seed is 0 there and 5 here" in complaint(capsys)
    assert train.main([*at(finished), *RECIPE, "--train.learning-rate", "0.5"]) == 2
    assert "train.learning_rate is 0.02 there and 0.5 here" in complaint(capsys)
    assert (finished / "x" / "config.json").read_bytes() == before


@pytest.mark.slow
def test_a_loss_that_is_no_number_stops_the_training(built, tmp_path, capsys):
    runs = copied(built, tmp_path)
    absurd = ["--train.learning-rate", "1e9", "--train.weight-decay", "1e9"]
    assert train.main([*at(runs), *RECIPE, *absurd]) == 2
    said = complaint(capsys)
    assert re.search(r"at step \d+, whose batch \(rows \d+ to \d+\) is kept as \S+; the last good", said)
    assert "checkpoint is None. Choose a lower --train.learning-rate" in said
    assert list((runs / "x" / "lm").glob("failed-batch-*.npy"))
    assert not (runs / "x" / "lm" / "checkpoints").exists()
    # Settings bind only once there are results.
    assert train.main([*at(runs), *RECIPE, "--train.row-length", "20"]) == 2
    assert train.main([*at(runs), *RECIPE]) == 0


def test_a_corpus_stopped_halfway_is_finished_from_its_own_world(built, tmp_path):
    runs = copied(built, tmp_path)
    whole = (runs / "x" / "corpus" / "tokens.bin").read_bytes()
    shutil.rmtree(runs / "x" / "corpus")
    (runs / "x" / ".corpus.partial").mkdir()
    assert corpus.main([*at(runs), *WORLD]) == 0
    assert (runs / "x" / "corpus" / "tokens.bin").read_bytes() == whole
    assert not (runs / "x" / ".corpus.partial").exists()


def test_parts_of_different_runs_are_not_mixed(finished, tmp_path, capsys):
    runs = copied(finished, tmp_path)
    other = tmp_path / "other"
    assert corpus.main([*at(other), *WORLD, "--seed", "1"]) == 0
    shutil.rmtree(runs / "x" / "world")
    assert corpus.main([*at(runs), *WORLD, "--seed", "1"]) == 2
    assert "seed is 0 there and 1 here" in complaint(capsys)
    shutil.copytree(other / "x" / "world", runs / "x" / "world")
    assert train.main([*at(runs), *RECIPE]) == 2
    assert "was written about another world" in complaint(capsys)
    shutil.rmtree(runs / "x" / "corpus")
    shutil.copytree(other / "x" / "corpus", runs / "x" / "corpus")
    assert train.main([*at(runs), *RECIPE]) == 2
    assert "(seed is 1 there and 0 here)" in complaint(capsys)
    assert edit.main([*at(runs), *EDITS]) == 2
    assert "corpus was made with other settings" in complaint(capsys)


def test_a_lost_config_is_said_to_be_lost(built, tmp_path, capsys):
    runs = copied(built, tmp_path)
    (runs / "x" / "config.json").unlink()
    shutil.rmtree(runs / "x" / "corpus")
    assert corpus.main([*at(runs), *WORLD]) == 2
    assert "config.json does not know how the corpus stage was made" in complaint(capsys)


def test_git_is_not_needed(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert provenance()["revision"] == "unknown"


@pytest.mark.usefixtures("blank_pictures")
def test_damaged_files_are_noticed(finished, tmp_path, capsys):
    runs = copied(finished, tmp_path)
    tokens = runs / "x" / "corpus" / "tokens.bin"
    whole = tokens.read_bytes()
    tokens.write_bytes(whole[:-2])
    assert train.main([*at(runs), *RECIPE]) == 2
    assert "tokens.bin is missing or differs from its checksum" in complaint(capsys)
    tokens.write_bytes(whole)
    metrics = runs / "x" / "lm" / "metrics.jsonl"
    metrics.write_text(metrics.read_text(encoding="utf-8") + '{"step": 40, "lo', encoding="utf-8")
    assert report.main(at(runs)) == 2
    advice = "metrics.jsonl is missing or differs from its checksum; run python -m testbed.train"
    assert advice in complaint(capsys)
    # Of a training that goes on, the last line may be half written, but no other one.
    (runs / "x" / "lm" / "finished.json").unlink()
    assert report.main(at(runs)) == 0
    metrics.write_text("nonsense\n", encoding="utf-8")
    assert report.main(at(runs)) == 2
    assert "metrics.jsonl is not readable" in complaint(capsys)


def test_requests_that_the_agent_has_no_notion_of(finished, capsys):
    assert edit.main([*at(finished), *EDITS, "--hase.request", "do"]) == 2
    assert "no fact takes a request of kind 'do' by this agent" in complaint(capsys)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["Ada Marlo educated at"], "did you mean 'Ada Marlow'"),
        (["Ada Marlow likes"], "no relation of this world ends"),
        (["Ada Marlow educated at", "--edit", "Ada Marlow educated at"], "'subject relation = object'"),
        (
            ["Ada Marlow educated at", "--edit", "Ada Marlow educated at = Ada Marlow"],
            "not the object of any fact",
        ),
        (
            ["Ada Marlow educated at", "--edit", "Ada Marlow educated at = Nowhere"],
            "unknown entity 'Nowhere'",
        ),
    ],
)
def test_questions_that_make_no_sense(args, message, finished, capsys):
    assert ask.main([*args, *at(finished)]) == 2
    assert message in complaint(capsys)


@pytest.mark.parametrize(
    "name", ["romme", "no_such_module:Thing", "json:Thing", "json:dumps", ":x", ".json:x"]
)
def test_editors_that_are_not_there(name, finished, capsys):
    assert edit.main([name, *at(finished)]) == 2
    assert repr(name) in complaint(capsys)


@pytest.mark.parametrize("name", ["../x", "", "a/b"])
def test_run_names_stay_inside_their_folder(name, tmp_path, capsys):
    assert corpus.main(["--runs", str(tmp_path), "--run", name]) == 2
    assert "plain name" in complaint(capsys)


def test_places_that_cannot_be_written(capsys):
    assert corpus.main([*at("/proc/nowhere"), *WORLD]) == 2
    assert "/proc/nowhere" in complaint(capsys)


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["corpus", "edit", "export"])
def test_a_full_disk_ends_in_a_message_and_loses_nothing(stage, finished, tmp_path):
    runs = tmp_path / "runs"
    kept: dict[Path, bytes] = {}
    if stage != "corpus":
        shutil.copytree(finished / "x", runs / "x")
        shutil.rmtree(runs / "x" / "edits", ignore_errors=True)
        kept = {p: p.read_bytes() for p in runs.rglob("*") if p.is_file()}
    options = {"corpus": WORLD, "edit": EDITS, "export": []}[stage]
    done = run_on_full_disk(tmp_path / "cache", f"testbed.{stage}", *at(runs), *options)
    assert done.returncode == 2, done.stderr
    assert "error: " in done.stderr
    assert "Traceback" not in done.stderr
    assert all(p.read_bytes() == content for p, content in kept.items())
    assert {"corpus": corpus, "edit": edit, "export": export}[stage].main([*at(runs), *options]) == 0


def test_help_breaks_lines_only_where_they_are_full(monkeypatch, capsys):
    """Descriptions are wrapped in the source; help wraps them once, not twice."""
    monkeypatch.setenv("COLUMNS", "110")
    with pytest.raises(SystemExit):
        edit.main(["--help"])
    lines = [line.strip("│").rstrip() for line in capsys.readouterr().out.splitlines()]
    description = re.compile(r" {20,}\S")
    pairs = [(a, b) for a, b in pairwise(lines) if description.match(a) and description.match(b)]
    assert len(pairs) > 10
    for first, second in pairs:
        assert len(first) + 1 + len(second.split()[0]) > 105, (first, second)


@pytest.mark.parametrize(
    "name", ["corpus", "train", "edit", "tune", "report", "ask", "export", "demo", "verify"]
)
def test_help_is_quick(name):
    # Loading JAX and what goes with it takes eight times as long as tyro.
    assert "usage: python -m testbed." in said_within(0.5, f"testbed.{name}", "--help")
