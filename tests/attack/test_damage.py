"""Every file of a run, damaged: a command that reads it names it, and what it advises makes it good."""

import json
import random
import shlex
import shutil
import subprocess

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus import files
from corpus.errors import InputError
from corpus.files import CHECKSUMS, read_record, write_record
from testbed import ask, corpus, edit, report, train, verify
from testbed.advice import command_for
from testbed.commands import edit as edit_command
from testbed.commands.verify import parts_of, wrong_with
from testbed.run.runs import Run
from testbed.run.world import load_world
from tests.edited import seal_results
from tests.runs import EDITS, RECIPE, ROOT, WORLD, assert_same_training, at, complaint, copied

DAMAGES = 40


def slow(*values):
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


def files_of(run):
    return sorted(p for p in run.rglob("*") if p.is_file() and p.stat().st_size)


def damaged(runs):
    """The parts that testbed.verify calls damaged, found one after the other."""
    return (part.path for part in parts_of(Run(runs, "x")) if wrong_with(part))


def flipped(content, rng):
    """One byte changed to any other."""
    place = rng.randrange(len(content))
    return content[:place] + bytes([content[place] ^ rng.randrange(1, 256)]) + content[place + 1 :]


def test_every_damaged_byte_is_found(finished, tmp_path, capsys):
    runs, rng = copied(finished, tmp_path), random.Random(22)
    assert verify.main(at(runs)) == 0
    paths = files_of(runs / "x")
    for _ in range(DAMAGES):
        path = rng.choice(paths)
        whole = path.read_bytes()
        path.write_bytes(flipped(whole, rng))
        assert any(damaged(runs)), path
        path.write_bytes(whole)
    assert verify.main(at(runs)) == 0


def nest_braces(depth):
    return b'{"a":' * depth + b"1" + b"}" * depth


WRITTEN = {
    "no checksums": (CHECKSUMS, b"{}"),
    "nested": ("*.json*", nest_braces(400)),
    "less nested": ("*.json*", nest_braces(60)),
    "nested without end": ("*.json*", nest_braces(100_000)),
    "emptied": ("*", b""),
    "removed": ("*", None),
}


@pytest.mark.parametrize("what", [*WRITTEN][:2] + slow(*[*WRITTEN][2:]))
def test_every_other_damage_is_found(what, finished, tmp_path):
    runs, (pattern, content) = copied(finished, tmp_path), WRITTEN[what]
    for path in (path for path in files_of(runs / "x") if path.match(pattern)):
        # Training not finished is no damage, and a record that is not there is made from the parts.
        # So are temperatures, by the next edit.
        if what == "removed" and (
            path.name in ("finished.json", CHECKSUMS) or path.parent.name == "recalibrated"
        ):
            continue
        whole = path.read_bytes()
        path.unlink() if content is None else path.write_bytes(content)
        assert any(damaged(runs)), path
        if path.name in ("config.json", "names.json"):
            # Whatever else is said of a run is read from these, too.
            assert verify.main(at(runs)) == 2
        path.write_bytes(whole)


@pytest.mark.parametrize(
    "name",
    [
        "config.json",
        pytest.param("corpus/tokens.bin", marks=pytest.mark.slow),
        "world/names.json",
        "lm/finished.json",
        pytest.param("lm/checkpoints/00000030/measured.json", marks=pytest.mark.slow),
        pytest.param("edits/hase/*/cases.parquet", marks=pytest.mark.slow),
    ],
)
def test_what_is_advised_makes_it_good_and_destroys_nothing(name, finished, tmp_path, capsys):
    runs = copied(finished, tmp_path)
    [path] = (runs / "x").glob(name)
    whole = path.read_bytes()
    path.write_bytes(flipped(whole, random.Random(0)))
    changed = path.read_bytes()
    assert verify.main(at(runs)) == 2
    said = capsys.readouterr().out
    [advice] = [line.strip() for line in said.splitlines() if "python -m testbed" in line]
    assert str(path) in said.replace(advice, "") or str(path.parent) in said
    move, _, command = advice.rpartition(" && ")
    if move:
        subprocess.run(shlex.split(move), check=True)
        assert changed in [p.read_bytes() for p in runs.rglob(path.name)]
    module, *options = shlex.split(command)[2:]
    stage = module.rpartition(".")[2]
    code = {"corpus": corpus, "train": train, "edit": edit, "report": report}[stage].main(options)
    assert code == 0, capsys.readouterr().err
    assert verify.main(at(runs)) == 0
    if stage == "corpus":
        assert path.read_bytes() == whole or path.name == "config.json"
    if stage == "train":
        assert_same_training(runs, finished)


def test_commands_as_printed_make_the_same(finished):
    run = Run(finished, "x")
    for stage, command, settings in (("corpus", corpus, WORLD), ("train", train, RECIPE)):
        *_, module, _, name, _, runs = command_for(run, stage).split()[:7]
        assert (module, name, runs) == (f"testbed.{stage}", "x", str(finished))
        assert len(settings) == len(shlex.split(command_for(run, stage))) - 7
        assert command.main(shlex.split(command_for(run, stage))[3:]) == 0


def test_a_lost_checkpoint_is_not_replaced_by_an_older_one(finished, tmp_path, capsys):
    runs = copied(finished, tmp_path)
    newest = runs / "x" / "lm" / "checkpoints" / "00000030"
    shutil.move(newest, tmp_path / "elsewhere")
    assert edit.main([*at(runs), *EDITS, "--seed", "1"]) == 2
    said = complaint(capsys)
    assert "00000030, the last model of the training, is missing" in said
    assert "run python -m testbed.train --run x" in said
    assert len(list((runs / "x" / "edits" / "hase").iterdir())) == 1


def test_another_checkpoint_of_the_same_step_is_refused(finished, tmp_path, capsys):
    runs = copied(finished, tmp_path)
    checkpoints = runs / "x" / "lm" / "checkpoints"
    shutil.rmtree(checkpoints / "00000030")
    shutil.copytree(checkpoints / "00000020", checkpoints / "00000030")
    assert edit.main([*at(runs), *EDITS, "--seed", "1"]) == 2
    assert "00000030, the last model of the training, is missing or damaged" in complaint(capsys)


@pytest.mark.parametrize("asked", [[], ["--seed", "1"], ["lora-down", "rome"]])
def test_a_damaged_model_is_neither_edited_nor_are_its_edits_shown_or_lost(asked, finished, tmp_path, capsys):
    """Edits that are there, those of other settings, and one editor's beside those of another."""
    runs = copied(finished, tmp_path)
    before = {path: path.read_bytes() for path in files_of(runs / "x" / "edits")}
    state = runs / "x" / "lm" / "checkpoints" / "00000030" / "state"
    path = max((file for file in state.rglob("*") if file.is_file()), key=lambda file: file.stat().st_size)
    path.write_bytes(flipped(path.read_bytes(), random.Random(0)))
    assert edit.main([*at(runs), *EDITS, *asked]) == 2
    assert f"{path} is missing or differs from its checksum" in complaint(capsys)
    assert {path: path.read_bytes() for path in files_of(runs / "x" / "edits")} == before


@pytest.mark.parametrize("asked", [[], ["--seed", "1"], ["lora-down", "rome"]])
def test_a_model_is_looked_at_once_whoever_edits_it(asked, finished, tmp_path, monkeypatch):
    runs, seen = copied(finished, tmp_path), []

    def end(*_):
        raise InputError("enough")

    hash_file = files.hash_file
    monkeypatch.setattr(files, "hash_file", lambda path: seen.append(path) or hash_file(path))
    for last in ("Sweep", "print_headlines"):
        monkeypatch.setattr(edit_command, last, end)
    assert edit.main([*at(runs), *EDITS, *asked]) == 2
    checkpoint = runs / "x" / "lm" / "checkpoints" / "00000030"
    looked_at = [path for path in seen if checkpoint in path.parents]
    assert sorted(looked_at) == sorted(checkpoint / name for name in files.list_sealed(checkpoint))


@pytest.mark.parametrize("name", ["cases", "config"])
def test_a_bit_of_the_results_is_never_read_as_another(name, finished, tmp_path, capsys):
    runs, rng = copied(finished, tmp_path), random.Random(3)
    [path] = (runs / "x" / "edits" / "hase").glob(f"*/{name}.*")
    whole = path.read_bytes()
    for _ in range(3):
        path.write_bytes(flipped(whole, rng))
        assert report.main(at(runs)) == 2
        assert str(path.parent) in complaint(capsys)


@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.parametrize("damage", ["{", *slow(None)])
def test_a_lost_record_is_made_again_from_the_parts(damage, finished, tmp_path, capsys):
    runs = copied(finished, tmp_path)
    path = runs / "x" / "config.json"
    settings = {k: v["settings"] for k, v in json.loads(path.read_text("utf-8")).items() if k != "sha256"}
    path.unlink() if damage is None else path.write_text(damage, encoding="utf-8")
    # Whoever only reads it reads it from the parts, and whoever checks settings checks the same ones.
    assert report.main(at(runs)) == 0
    assert corpus.main([*at(runs), *WORLD, "--seed", "5"]) == 2
    assert "seed is 0 there and 5 here" in complaint(capsys)
    assert train.main([*at(runs), *RECIPE]) == 0
    again = json.loads(path.read_text("utf-8"))
    assert settings == {k: v["settings"] for k, v in again.items() if k != "sha256"}
    assert verify.main(at(runs)) == 0


def test_results_from_before_there_were_checksums_say_what_makes_them_good(finished, tmp_path, capsys):
    runs = copied(finished, tmp_path)
    [folder] = (runs / "x" / "edits" / "hase").iterdir()
    (folder / CHECKSUMS).unlink()
    kept = {path: path.read_bytes() for path in folder.iterdir()}
    capsys.readouterr()
    assert report.main(at(runs)) == 2
    said = capsys.readouterr().out.replace("\n", " ")
    assert f"python -m testbed.verify --run x --runs {runs} prints the command" in said
    assert verify.main(at(runs)) == 2
    assert f"mv {folder} " in capsys.readouterr().out.replace("\n", " ")
    assert kept == {path: path.read_bytes() for path in folder.iterdir()}
    path = runs / "x" / "lm" / "finished.json"
    told = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({key: told[key] for key in ("step", "accuracy")}), encoding="utf-8")
    assert edit.main([*at(runs), *EDITS, "--seed", "1"]) == 2
    assert "finished.json has no checksum; run python -m testbed.train --run x" in complaint(capsys)
    assert train.main([*at(runs), *RECIPE]) == 0
    assert json.loads(path.read_text("utf-8")) == told


def test_nobody_is_advised_to_destroy_anything():
    for package in ("corpus", "bayes", "lm", "testbed"):
        for path in sorted((ROOT / package).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            assert "delete {" not in text, path
            assert "or delete" not in text, path


@pytest.mark.parametrize(
    ("stage", "name", "typed", "command"),
    [
        ("corpus", "laptop", "", "python -m testbed.corpus laptop --run laptop"),
        ("corpus", "mine", "laptop", "python -m testbed.corpus laptop --run mine"),
        ("corpus", "mine", "tiny", "python -m testbed.corpus --run mine"),
        ("train", "paper", "paper-fast", "python -m testbed.train paper-fast --run paper"),
        ("corpus", "paper", "paper-fast", "python -m testbed.corpus paper --run paper"),
        ("report", "laptop", "", "python -m testbed.report --run laptop"),
        ("tune my:Own", "a b", "small", "python -m testbed.tune small my:Own --run 'a b'"),
    ],
)
def test_advice_has_the_preset_and_the_run(stage, name, typed, command, tmp_path):
    run = Run(tmp_path, name)
    assert command_for(run, stage, typed) == f"{command} --runs {tmp_path}"


def test_a_search_for_an_editor_of_ones_own_is_advised_by_its_name(built, tmp_path, capsys):
    runs = copied(built, tmp_path)
    (runs / "x" / "tuned" / "hase").mkdir(parents=True)
    (runs / "x" / "tuned" / "hase" / "some.module.MyEditor.json").write_text("{}", encoding="utf-8")
    assert verify.main(at(runs)) == 2
    assert "python -m testbed.tune some.module:MyEditor --run x" in capsys.readouterr().out


@pytest.mark.parametrize(("stage", "what"), [("corpus", "the corpus"), ("train", "the model")])
def test_whatever_reads_what_other_code_made_says_so(stage, what, finished, tmp_path, capsys):
    runs = copied(finished, tmp_path)
    commands = (
        (corpus, WORLD), (train, RECIPE), (verify, []), (ask, [question_of(runs)])
    )  # fmt: skip
    said = f"{what} of {runs / 'x'} was made by another version of this code"
    for is_old in (False, True):
        if is_old:
            config = read_record(runs / "x" / "config.json")
            config[stage]["version"] = 0
            write_record(runs / "x" / "config.json", config)
        for command, options in commands:
            if command is not corpus or stage == "corpus":
                assert command.main([*options, *at(runs)]) == 0
                assert (said in capsys.readouterr().out) == is_old, command


def question_of(runs):
    world = load_world(Run(runs, "x"))
    graph = world.graph
    return f"{graph.entities[graph.subject[0]]} {graph.relations[graph.relation[0]]}"


@pytest.mark.slow
def test_a_whole_run_made_again_is_the_same_and_a_forged_one_is_not(finished, tmp_path, capsys):
    """Forged so that every checksum fits: only who makes it again can tell."""
    runs = copied(finished, tmp_path)
    before = {p: p.read_bytes() for p in (runs / "x").rglob("*") if p.is_file()}
    assert verify.main([*at(runs), "--whole"]) == 0
    assert "all 4 parts are the same when they are made again" in capsys.readouterr().out
    assert before == {p: p.read_bytes() for p in (runs / "x").rglob("*") if p.is_file()}
    [folder] = (runs / "x" / "edits" / "hase").iterdir()
    table = pq.read_table(folder / "choices.parquet")
    answers = table["lm_answer_after"].to_numpy().copy()
    answers[0] += 1
    place = table.column_names.index("lm_answer_after")
    forged = table.set_column(place, table.schema.field(place), pa.array(answers, pa.int32()))
    pq.write_table(forged, folder / "choices.parquet")
    seal_results(folder)
    assert verify.main(at(runs)) == 0
    assert verify.main([*at(runs), "--whole"]) == 2
    captured = capsys.readouterr()
    assert "choices.parquet differs in lm_answer_after" in captured.out.replace("\n", " ")
    assert "1 of 4 parts" in captured.err
