"""Files that another process appends to, shortens or replaces while a command reads them: one message.

What is read is hooked, so that the change comes behind the first byte and before the last. Of a card it is
tried in tests/attack/test_cards.py.
"""

import os
import shutil
import subprocess
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus.errors import InputError
from corpus.files import require_unchanged
from corpus.worlds import tables as corpus_tables
from corpus.worlds import wikidata
from testbed import corpus, score
from testbed.commands import corpus as corpus_command
from testbed.engine.file_exchange.schema import FILES, Exam
from testbed.run.runs import Run
from tests.attack.trials import CASES, write_answers
from tests.runs import at, complaint, copied

FACTS = [(f"person {i}", relation, f"town {i % 7}") for i in range(60) for relation in ("born", "lives")]
CHANGED = "was changed while it was read; type the command again"


def append(path):
    with path.open("ab") as file:
        file.write(path.read_bytes()[-200:])


def shorten(path):
    os.truncate(path, path.stat().st_size // 2)


def write_over(path):
    with path.open("r+b") as file:
        file.write(path.read_bytes()[:1])


def replace(path):
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    os.replace(other, path)


CHANGES = (append, shorten, write_over, replace, os.unlink)


def with_changes(first, *others):
    """Every change of one file, and one of each of the others."""
    cases = [*((first, change) for change in CHANGES), *((name, append) for name in others)]
    return pytest.mark.parametrize(("name", "change"), cases, ids=lambda x: getattr(x, "__name__", x))


def hook(monkeypatch, place, name, what):
    """Do something before the first call of a function."""
    real, pending = getattr(place, name), [what]

    def call(*args, **options):
        while pending:
            pending.pop()()
        return real(*args, **options)

    monkeypatch.setattr(place, name, call)


def write_table(path, rows):
    if path.suffix == ".parquet":
        pq.write_table(pa.table(dict(zip("sro", map(list, zip(*rows, strict=True)), strict=True))), path)
    elif path.suffix == ".nt":
        iris = [" ".join(f"<http://a/{cell.replace(' ', '_')}>" for cell in row) for row in rows]
        path.write_text("".join(f"{line} .\n" for line in iris), encoding="utf-8")
    else:
        path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")


def words_of(path):
    return [*at(path.parent), "--world.source", "tsv", "--world.path", str(path)]


@with_changes("facts.tsv", "facts.nt", "facts.parquet")
def test_a_table_that_changes_makes_no_world(name, change, tmp_path, capsys, monkeypatch):
    path = tmp_path / name
    write_table(path, FACTS)
    if name.endswith("parquet"):
        hook(monkeypatch, corpus_tables, "require_rows", lambda: change(path))
    else:
        hook(monkeypatch, corpus_command, "show_progress", lambda: change(path))
    assert corpus.main(words_of(path)) == 2
    assert f"{path} {CHANGED}" in complaint(capsys)
    assert not Run(tmp_path, "x").world.exists()


def test_a_table_that_another_process_appends_to_makes_no_world(tmp_path, capsys):
    path = tmp_path / "facts.tsv"
    write_table(path, FACTS * 100)
    line = "somebody new\tborn\ttown 1"
    writer = subprocess.Popen(["bash", "-c", f'while :; do echo "{line}" >> "$0"; done', path])
    try:
        size = path.stat().st_size
        while path.stat().st_size == size:
            time.sleep(0.01)
        assert corpus.main(words_of(path)) == 2
    finally:
        writer.kill()
        writer.wait()
    assert f"{path} {CHANGED}" in complaint(capsys)
    assert not Run(tmp_path, "x").world.exists()
    assert corpus.main(words_of(path)) == 0


@pytest.mark.parametrize("change", CHANGES)
def test_the_copy_of_a_folder_that_changes_is_not_kept(change, tmp_path, monkeypatch):
    """The binary copy is filed under the hash of the files, and read for years."""
    lines = {"triplet": "Q1\tP1\tQ2\n", "entity": "Q1\tone\nQ2\ttwo\n", "relation": "P1\tknows\n"}
    paths = {of: tmp_path / f"w_{'all_' * (of == 'triplet')}{of}.txt" for of in lines}
    for of, path in paths.items():
        path.write_text(lines[of], encoding="utf-8")
    hook(monkeypatch, wikidata, "read_names", lambda: change(paths["triplet"]))
    with pytest.raises(InputError, match=CHANGED):
        wikidata.read_folder(tmp_path, tmp_path / ".cache")
    assert not (tmp_path / ".cache").exists()


@pytest.fixture(scope="module")
def runs_with_answers(trained, tmp_path_factory):
    runs = copied(trained, tmp_path_factory.mktemp("growing"))
    write_answers(runs, runs / "answers")
    return runs


@with_changes(*FILES)
def test_answers_that_change_are_not_scored(name, change, runs_with_answers, tmp_path, capsys, monkeypatch):
    runs = copied(runs_with_answers, tmp_path)
    answers = shutil.copytree(runs_with_answers / "answers", tmp_path / "answers")
    hook(monkeypatch, Exam, "find_fault", lambda: change(answers / name))
    assert score.main([str(answers), *CASES, "--name", "mine", *at(runs)]) == 2
    assert f"{answers / name} {CHANGED}" in complaint(capsys)
    assert not Run(runs, "x").edits.exists()


def test_what_stays_is_read_whatever_lies_beside_it(tmp_path):
    path = tmp_path / "facts.tsv"
    path.write_text("a\tb\tc\n")
    with require_unchanged(path, tmp_path / "nothing"):
        (tmp_path / "other").write_text("x")
        assert path.read_text()
    with pytest.raises(ZeroDivisionError), require_unchanged(path):
        raise ZeroDivisionError
    with pytest.raises(InputError, match=CHANGED), require_unchanged(tmp_path):
        (tmp_path / "one more").write_text("x")
