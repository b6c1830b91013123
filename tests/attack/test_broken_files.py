"""What is handed in and broken is refused, by file and line: files drawn from the schemas."""

import json
import shutil

import pytest

from corpus.errors import InputError
from testbed import score
from tests.attack.broken import break_answers, check_answers, dump, make_answers, try_broken
from tests.runs import at, complaint, copied


@pytest.fixture(scope="module")
def answered(trained, tmp_path_factory):
    return make_answers(copied(trained, tmp_path_factory.mktemp("answered")))


def test_no_broken_file_of_answers_is_taken(answered):
    folder, choices, read = answered
    read(folder)
    refused = try_broken(break_answers(folder, choices), check_answers(folder, read), 3)
    assert refused == {"about.json", "before.jsonl", "after.jsonl"}


def change_first(key, value):
    """The first number of a field of answers, or the field itself, replaced."""

    def change(line):
        field = line[key]
        return line | {key: [[value, *field[0][1:]], *field[1:]] if isinstance(field, list) else value}

    return change


def give_all(**values):
    """Every probability of some fields is one number."""
    return lambda line: line | {key: [[x] * len(row) for row in line[key]] for key, x in values.items()}


def without(key):
    return lambda line: {k: v for k, v in line.items() if k != key}


LINES = {
    "all are 1": give_all(ended=1.0, begun=1.0),
    "negative": give_all(ended=-0.1, begun=-0.1),
    "1e30": change_first("ended", 1e30),
    "truth values": change_first("ended", True),
    "text": change_first("begun", "0.5"),
    "one deeper": change_first("ended", [0.5]),
    "larger with the stop": give_all(begun=0.0, ended=0.1),
    "true and false": give_all(claims=1.0),
    "true is -3": change_first("claims", -3),
    "true is 4": change_first("claims", 4),
    "no vocabulary": change_first("tokens", 10**12),
    "a negative token": change_first("tokens", -1),
    "a fraction of a token": change_first("tokens", 1.5),
    "a token in words": change_first("tokens", "1"),
    "seconds of NaN": change_first("seconds", float("nan")),
    "negative seconds": change_first("seconds", -1.0),
    "seconds without end": change_first("seconds", float("inf")),
    "soon": change_first("seconds", "soon"),
    "no such case": change_first("case", 10**6),
    "half a case": change_first("case", 0.5),
    "a fault of 10 MB": change_first("fault", "x" * 10**7),
    "a fault of its own kind": change_first("fault", {}),
    "no control": without("control"),
    "no singly": without("singly"),
    "no seconds": without("seconds"),
    "a list": lambda line: [line],
}


@pytest.mark.parametrize("kind", LINES)
def test_every_kind_of_line_that_was_once_believed_is_refused(kind, answered):
    folder, _, read = answered
    first, *others = (json.loads(line) for line in (folder / "after.jsonl").read_text().splitlines())
    with pytest.raises(InputError, match=r"after\.jsonl"):
        check_answers(folder, read)("after.jsonl", dump(LINES[kind](first), *others))


@pytest.mark.parametrize("key", ["versions", "batch"])
def test_what_answers_depend_on_is_said_whole(key, answered):
    folder, _, read = answered
    about = json.loads((folder / "about.json").read_text())
    with pytest.raises(InputError, match=rf"about\.json.*{key}"):
        check_answers(folder, read)("about.json", dump(without(key)(about)))


def test_no_message_is_as_long_as_what_it_is_about(answered, tmp_path, capsys):
    """A megabyte in a setting that differs; and more versions than anybody has."""
    folder, _, read = answered
    about = json.loads((folder / "about.json").read_text())
    answers = shutil.copytree(folder, tmp_path / "answers")
    (answers / "about.json").write_bytes(dump(about | {"settings": {"seed": "x" * 10**6}}))
    assert score.main([str(answers), "--name", "mine", *at(folder.parent)]) == 2
    assert "answers to other cases" in (said := complaint(capsys))
    assert len(said) < 2000
    about["versions"] = dict.fromkeys(map(str, range(51)), "1")
    with pytest.raises(InputError, match=r"about\.json: versions"):
        check_answers(folder, read)("about.json", dump(about))


@pytest.mark.parametrize("word", ["\x1b[2J", "one\nerror: two", "\u202etxet"])
def test_words_that_command_a_terminal_are_refused(word, answered):
    folder, _, read = answered
    about = json.loads((folder / "about.json").read_text())
    with pytest.raises(InputError, match=r"about\.json: editor"):
        check_answers(folder, read)("about.json", dump(about | {"editor": word}))


@pytest.mark.parametrize(
    "name", ["../x", "", "n" * 101, "k\u0435yed", "Keyed", "key.ed", "r0me", "none", "a\nb", "a:b"]
)
def test_answers_have_a_plain_name_that_is_none_of_ours(name, tmp_path, capsys):
    assert score.main([str(tmp_path), "--name", name, *at(tmp_path)]) == 2
    assert "--name" in complaint(capsys)


def test_every_line_twice_is_refused(answered):
    folder, _, read = answered
    lines = (folder / "after.jsonl").read_bytes()
    with pytest.raises(InputError, match=r"after\.jsonl"):
        check_answers(folder, read)("after.jsonl", lines + lines)
