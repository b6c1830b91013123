"""Cards that were handed in and say something else than their answers are left out, each by name."""

import json
import os
import shutil
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus import files
from corpus.errors import InputError
from corpus.files import list_sealed, read_json, seal_folder, write_json
from testbed import report
from testbed.commands import cards, examine, leaderboard
from testbed.commands.cards import remake_card
from testbed.commands.leaderboard import Referee, check_seal, find_unborne, list_entries, open_standard
from testbed.examine import main
from testbed.protocol import ABSENT
from testbed.run.lock import only_one_at
from testbed.suite import SuiteWorld
from tests.attack.broken import break_card, try_broken
from tests.attack.test_growing_files import CHANGED, hook, with_changes
from tests.attack.trials import shrink_suite
from tests.runs import complaint, copied

DEMO, PUBLISHED, PERSISTING = "demo", "published", "persisting"
NAME = "lora-down-quick"


@pytest.fixture(scope="module")
def suite(trained, tmp_path_factory):
    """A suite of one small world, and a folder that was handed in: (runs, folder, who checks)."""
    place = tmp_path_factory.mktemp("suite")
    runs = copied(trained, place / "runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(examine, "read_suite", examine.read_suite)
        shrink_suite(runs, runs)
        assert main(["lora-down", "--quick", "--runs", str(runs), "--folder", str(place / "examined")]) == 0
        yield runs, place / "examined" / NAME, Referee(runs)


@pytest.fixture
def handed(suite, tmp_path):
    """A copy of the folder."""
    shutil.copytree(suite[1], tmp_path / "examined" / NAME)
    return tmp_path / "examined" / NAME


def seal(folder):
    seal_folder(folder, list_sealed(folder))


def change_card(folder, change):
    card = read_json(folder / "scorecard.json")
    change(card, next(one for one in card["editors"] if one["editor"] == card["examined"]))
    write_json(folder / "scorecard.json", card)


def change_column(folder, table, column, change):
    path = folder / "answers" / DEMO / f"{table}.parquet"
    held = pq.read_table(path)
    at = held.column_names.index(column)
    array = pa.array(change(held[column].to_pylist()), held.schema.field(column).type)
    pq.write_table(held.set_column(at, held.schema.field(column), array), path)


def test_a_card_that_was_made_here_holds(suite, handed, capsys):
    assert main(["--verify", str(handed), "--runs", str(suite[0])]) == 0
    assert "holds: lora-down, this project's editor" in " ".join(capsys.readouterr().out.split())
    (handed / "notes.txt").write_text("kept")
    assert report.main(["--leaderboard", str(handed.parent), "--runs", str(suite[0])]) == 0
    (entry,) = json.loads((handed.parent / "leaderboard.json").read_text())["editors"]
    own = next(e for e in read_json(handed / "scorecard.json")["editors"] if e["editor"] == "lora-down")
    assert entry["numbers"] == own["numbers"]
    assert entry["about"]["origin"] == "native: lora-down"


@pytest.mark.slow
def test_a_card_of_the_whole_suite_holds_and_one_of_fewer_worlds_does_not(
    trained, tmp_path, capsys, monkeypatch
):
    """A suite of two worlds, under names of the whole one."""
    runs, folder = copied(trained, tmp_path / "runs"), tmp_path / "examined" / "lora-down-v1"
    monkeypatch.setattr(examine, "read_suite", examine.read_suite)
    shrink_suite(runs, runs, (PUBLISHED, PERSISTING))
    words = ["--suite", "v1", "--runs", str(runs), "--folder", str(folder.parent)]
    assert main(["lora-down", *words]) == 0
    capsys.readouterr()
    assert main(["--verify", str(folder), "--runs", str(runs)]) == 0
    assert "holds: lora-down" in " ".join(capsys.readouterr().out.split())
    card = read_json(folder / "scorecard.json")
    assert {row["row"]: row["worlds"] for row in card["rows"]}["damage"] == [PUBLISHED, PERSISTING]
    handed = shutil.copytree(folder, tmp_path / folder.name)
    for what in ("worlds", "methods"):
        change_card(handed, lambda card, own, what=what: card[what].pop(PERSISTING))
        seal(handed)
        assert main(["--verify", str(handed), "--runs", str(runs)]) == 2
        assert f"{what}: {PUBLISHED}, where the suite has" in complaint(capsys)
        write_json(handed / "scorecard.json", card)


def test_answers_that_nobody_sealed_are_not_read(suite, handed):
    names = [name for name in list_sealed(handed) if "claims" not in name]
    seal_folder(handed, names)
    with pytest.raises(InputError, match=r"does not name .*claims\.parquet"):
        suite[2].check(handed)


def test_a_guest_of_the_name_of_a_reference_leaves_that_where_it_is(suite, handed):
    change_card(handed, lambda card, own: card.update(code=""))
    seal(handed)
    guest = suite[2].check(handed)
    reference = guest.made | {"numbers": {}}
    names = [entry.name for entry in list_entries([guest], [reference], {}, "an agent", guest.rows)]
    assert sorted(names) == ["lora-down", f"lora-down ({NAME})"]
    assert [entry.name for entry in list_entries([guest], [], {}, "", guest.rows)] == [f"lora-down ({NAME})"]
    native = guest._replace(is_native=True)
    assert [entry.name for entry in list_entries([native], [reference], {}, "", guest.rows)] == ["lora-down"]


def test_what_users_keep_beside_a_card_stays_when_it_is_written_again(suite, handed):
    (handed / "explorer").mkdir()
    kept = {handed / "notes.txt": "mine", handed / "explorer" / "index.html": "a page"}
    for path, text in kept.items():
        path.write_text(text)
    words = ["lora-down", "--quick", "--runs", str(suite[0]), "--folder", str(handed.parent)]
    assert main(words) == 0
    assert {path: path.read_text() for path in kept} == kept
    assert main(["--verify", str(handed), "--runs", str(suite[0])]) == 0


def set_damage(**changes):
    return lambda card, own: own["numbers"]["damage"].update(changes)


def improve_no_edit(card, own):
    unedited = next(one for one in card["editors"] if one["editor"] == "none")
    unedited["numbers"]["damage"]["value"] = -0.3


def turn_verdict(card, own):
    over = own["numbers"]["damage"]["over no edit"]
    over["verdict"] = "worse" if over["verdict"] == "better" else "better"


def rename(card, own, name):
    own["editor"] = card["examined"] = name


def count_better_of_none(card, own):
    next(one for one in card["editors"] if one["editor"] == "none")["rows surely better"] = 9


def count_better_of_another_model(card, own):
    """Of another processor, of which numbers may differ a little."""
    card["worlds"][DEMO]["weights"] = "0"
    own["rows surely better"] = 9


def praise_another_model(card, own):
    card["worlds"][DEMO]["weights"] = "0"
    own["numbers"]["damage"]["over no edit"] = {
        "difference": 0.5,
        "low": 0.4,
        "high": 0.6,
        "verdict": "better",
    }


SAYS = {
    "counts": (lambda card, own: own.update({"rows surely better": 99}), "rows surely better is 99"),
    "verdicts": (turn_verdict, "damage"),
    "a value of 7": (set_damage(value=7.0), "numbers.damage.value is 7.0"),
    "an interval": (set_damage(low=-0.5), "damage"),
    "cases": (set_damage(cases=10**6), "damage"),
    "no edit": (improve_no_edit, "none: numbers.damage"),
    "negative counts": (lambda card, own: own.update({"rows surely worse": -4}), ">= 0"),
    "no row": (lambda card, own: own["numbers"].clear(), "is nothing"),
    "no world": (lambda card, own: card.update(worlds={}, methods={}), "length >= 1"),
    "another world": (lambda card, own: card["worlds"][DEMO].update(corpus="0"), "not the suite's (corpus)"),
    "more worlds": (lambda card, own: card["worlds"].update(moon=card["worlds"][DEMO]), "moon"),
    "another suite": (lambda card, own: card.update(suite="v9"), "suite: v9"),
    "another method": (lambda card, own: card["methods"][DEMO].update(version=99), "method"),
    "a name like ours": (lambda card, own: rename(card, own, "Keyed"), "looks like our editor keyed"),
    "a name that looks like ours": (lambda card, own: rename(card, own, "Iora_d0wn"), "looks like our"),
    "a name in other letters": (lambda card, own: rename(card, own, "k\u0435yed"), "examined"),
    "another title": (lambda card, own: card.update(title="the winner"), "title: the winner"),
    "other rows": (lambda card, own: card["rows"][0].update(says="The best."), "rows"),
    "an editor more": (lambda card, own: card["editors"].append(own | {"editor": "winner"}), "editors"),
    "itself twice": (lambda card, own: card["editors"].append(own), "editors"),
    "more numbers": (lambda card, own: own["numbers"].update(fame=own["numbers"]["damage"]), "numbers: "),
    "a reference's counts": (count_better_of_none, "none: rows surely better is 9"),
    "counts of another model": (count_better_of_another_model, "lora-down: rows surely better is 9"),
    "verdicts of another model": (praise_another_model, "better, where the interval says worse"),
    "facts learned": (lambda card, own: card["worlds"][DEMO].update(accuracy=1.0), "accuracy"),
    "a date": (lambda card, own: card.update(date="2026-01-01\n"), "date"),
    "no such day": (lambda card, own: card.update(date="2026-02-30"), "date"),
    "too much": (lambda card, own: card.update(made_with={str(i): "" for i in range(99)}), "made_with"),
    "a missing key": (lambda card, own: card.pop("date"), "missing required field `date`"),
    "no text": (lambda card, own: card["methods"][DEMO].update(editor=None), "methods"),
    "a path": (lambda card, own: card.update(methods={"../../x": card["methods"][DEMO]}), "nobody sealed"),
}  # fmt: skip


@pytest.mark.parametrize("what", SAYS)
def test_a_card_that_says_something_else_is_left_out_and_named(what, suite, handed, capsys):
    change, why = SAYS[what]
    change_card(handed, change)
    seal(handed)
    with pytest.raises(InputError, match=r"scorecard\.json|config\.json|sha256") as error:
        suite[2].check(handed)
    assert why in str(error.value)


def test_a_card_that_was_changed_after_it_was_sealed_is_left_out(suite, handed):
    change_card(handed, lambda card, own: card.update(date="2000-01-01"))
    with pytest.raises(InputError, match="differs from its checksum"):
        suite[2].check(handed)
    shutil.copy(handed / "scorecard.json", handed / "answers" / DEMO / "x.json")
    write_json(handed / "sha256.json", {"../x": "0"})
    with pytest.raises(InputError, match="not a list of checksums|does not lie in its folder"):
        suite[2].check(handed)


@with_changes("scorecard.json", "answers/demo/choices.parquet")
def test_a_card_that_changes_while_it_is_read_does_not_hold(name, change, suite, handed, monkeypatch):
    hook(monkeypatch, cards, "read_results", lambda: change(handed / name))
    with pytest.raises(InputError, match=CHANGED):
        suite[2].check(handed)


def test_a_folder_that_fills_the_disk_of_who_hashes_it_is_not_read(suite, handed, monkeypatch):
    """A file of holes takes no room, and minutes to be hashed."""
    with (handed / "holes").open("wb") as file:
        file.truncate(leaderboard.LARGEST)
    write_json(handed / "sha256.json", read_json(handed / "sha256.json") | {"holes": "0"})
    began = time.perf_counter()
    with pytest.raises(InputError, match="bytes of files, and may have"):
        suite[2].check(handed)
    assert time.perf_counter() - began < 5
    monkeypatch.setattr(files, "LARGEST", 100)
    with pytest.raises(InputError, match=r"sha256\.json is longer than 100 bytes"):
        suite[2].check(handed)


def test_copies_long_settings_and_names_of_no_text_are_shown_as_what_they_are(suite, handed):
    """One of them stands in a folder that an archive named in Latin-1; what a kill left is no folder."""
    board, long = handed.parent, "x" * 10**6
    shutil.copytree(handed, board / "copy")
    shutil.copytree(handed, board / os.fsdecode(b"caf\xe9"))
    shutil.copytree(handed, board / ".killed.partial")
    change_card(board / "copy", lambda card, own: card["methods"][DEMO]["settings"].update(more=long))
    config = board / "copy" / "answers" / DEMO / "config.json"
    method = read_json(config)["method"]
    write_json(
        config, read_json(config) | {"method": method | {"settings": method["settings"] | {"more": long}}}
    )
    seal(board / "copy")
    assert report.main(["--leaderboard", str(board), "--runs", str(suite[0])]) == 0
    entries = json.loads((board / "leaderboard.json").read_text())["editors"]
    assert {one["folder"]: one["about"]["same numbers"] for one in entries} == {NAME: "copy", "copy": NAME}
    page = (board / "index.html").read_text(encoding="utf-8")
    assert "caf\\udce9 is left out" in page
    assert "killed" not in page
    assert len(page) < 10**6


def test_a_card_that_two_commands_write_is_one_of_theirs(suite, handed, capsys):
    words = ["lora-down", "--quick", "--runs", str(suite[0]), "--folder", str(handed.parent)]
    with only_one_at(handed.parent):
        assert main(words) == 2
    assert "is at work on" in complaint(capsys)
    assert main(words) == 0
    suite[2].check(handed)


def shift(values):
    return [[1.0, *[0.0] * (len(row) - 1)] for row in values]


ANSWERED = {
    "beliefs": ("choices", "agent_evidence", shift, "other choices.agent"),
    "the model before": ("choices", "lm_before", shift, "before any edit"),
    "impossible answers": ("choices", "lm_after", lambda v: [[1.0] * len(row) for row in v], "row 1"),
    "negative ones": ("choices", "lm_after", lambda v: [[-0.5] * len(row) for row in v], "none"),
    "cases": ("cases", "object", lambda v: v[::-1], "cases.object"),
    "what depends on what": ("cases", "cluster", lambda v: [*range(len(v))][::-1], "cases.cluster"),
    "questions told": ("choices", "is_told", lambda v: [True] * len(v), "choices.is_told"),
    "seconds": ("cases", "seconds", lambda v: [float("nan")] * len(v), "seconds"),
    "lists of other lengths": (
        "choices",
        "lm_after",
        lambda v: [row[1:] for row in v],
        "no tables of answers",
    ),
}


@pytest.mark.parametrize("what", ANSWERED)
def test_answers_to_something_else_or_of_no_model_are_left_out(what, suite, handed):
    table, column, change, why = ANSWERED[what]
    held = pq.read_table(handed / "answers" / DEMO / f"{table}.parquet")
    column = column if column in held.column_names else next(c for c in held.column_names if "agent_" in c)
    change_column(handed, table, column, change)
    seal(handed)
    with pytest.raises(InputError, match="answers") as error:
        suite[2].check(handed)
    assert why in str(error.value)


def test_more_rows_than_cases_have_are_not_read(suite, handed):
    path = handed / "answers" / DEMO / "choices.parquet"
    held = pq.read_table(path)
    pq.write_table(pa.concat_tables([held, held]), path)
    seal(handed)
    with pytest.raises(InputError, match="rows, where the world's cases ask for"):
        suite[2].check(handed)
    pq.write_table(held, path, use_dictionary=False, column_encoding={"role": "DELTA_BYTE_ARRAY"})
    seal(handed)
    with pytest.raises(InputError, match="packed as DELTA_BYTE_ARRAY"):
        suite[2].check(handed)


PACKED = {
    "one number in lists": (pa.array([[0.0] * 10**4] * 200), {}),
    "one text": (pa.array(["y" * 10**4] * 1000), {}),
    "one text in lists": (pa.array([["y" * 10**4] * 2] * 1000), {}),
    "texts that begin alike": (
        pa.array(["y" * i for i in range(2000)]),
        {"column_encoding": "DELTA_BYTE_ARRAY"},
    ),
}


@pytest.mark.parametrize("what", PACKED)
def test_a_small_file_that_fills_all_memory_is_not_read(what, tmp_path, monkeypatch):
    column, how = PACKED[what]
    path = tmp_path / "packed.parquet"
    pq.write_table(pa.table({"x": column}), path, use_dictionary=not how, **how)
    monkeypatch.setattr(cards, "LARGEST", 10**6)
    assert path.stat().st_size < 10**5
    with pytest.raises(InputError, match=r"packed\.parquet"):
        cards.check_table_size(path, len(column))
    pq.write_table(pa.table({"x": column.slice(0, 2)}), path)
    cards.check_table_size(path, 2)


def test_who_only_says_that_it_is_ours_is_a_guest(suite, handed, capsys):
    for change in (lambda card, own: card.update(code="0" * 12), lambda card, own: card.update(code="")):
        change_card(handed, change)
        seal(handed)
        assert not suite[2].check(handed).is_native
    config = handed / "answers" / DEMO / "config.json"
    name = "lm.editors.keyed.method:Keyed"
    content = read_json(config)
    write_json(config, content | {"method": content["method"] | {"editor": name}})
    change_card(handed, lambda card, own: card["methods"][DEMO].update(editor=name))
    seal(handed)
    assert not suite[2].check(handed).is_native
    assert report.main(["--leaderboard", str(handed.parent), "--runs", str(suite[0])]) == 0
    assert f"guest: {name}" in (handed.parent / "index.html").read_text(encoding="utf-8")


def test_a_forged_first_folder_throws_nobody_out(suite, handed, capsys):
    forged = shutil.copytree(handed, handed.with_name("a-forged"))
    change_card(forged, lambda card, own: card["worlds"][DEMO].update(corpus="0"))
    seal(forged)
    assert report.main(["--leaderboard", str(handed.parent), "--runs", str(suite[0])]) == 0
    assert "a-forged is left out" in " ".join(capsys.readouterr().out.split())
    entries = json.loads((handed.parent / "leaderboard.json").read_text())["editors"]
    assert [entry["folder"] for entry in entries] == [NAME]
    shutil.rmtree(handed)
    assert report.main(["--leaderboard", str(forged.parent), "--runs", str(suite[0])]) == 2
    assert "no scorecard.json" in complaint(capsys)


def test_no_broken_card_is_taken(suite, handed):
    card = read_json(handed / "scorecard.json")

    def check(name, content):
        (handed / name).write_bytes(content)
        seal(handed)
        suite[2].check(handed)

    assert try_broken(break_card(card), check, 0.5) == {"scorecard.json"}


def know_by_heart(folder, suite):
    """The answers of a card are the agent's, and the card says what these come to."""
    choices = pq.read_table(folder / "answers" / DEMO / "choices.parquet")
    after = next(name for name in choices.column_names if name.startswith("agent_") and "before" not in name)
    beliefs, options = choices[after].to_pylist(), choices["options"].to_pylist()
    best = [o[int(np.argmax(p))] if any(p) else ABSENT for o, p in zip(options, beliefs, strict=True)]
    for name, values in (("lm_after", beliefs), ("lm_open_after", beliefs), ("lm_answer_after", best)):
        change_column(folder, "choices", name, lambda _, values=values: values)
    seal(folder)
    standards = {world.name: open_standard(world) for world in suite.worlds}
    made, _ = remake_card(folder, check_seal(folder), suite.rows, standards)
    change_card(folder, lambda card, own: card.update(editors=made["editors"]))
    seal(folder)


@pytest.fixture
def same_twin(suite, monkeypatch):
    """The private twin is the suite itself: what a card is worth there is what it is worth here."""
    (suite[0] / examine.TWIN_SECRET).unlink(missing_ok=True)
    monkeypatch.setattr(SuiteWorld, "draw_twin", lambda self, _, frozen: self._replace(frozen=frozen))


@pytest.mark.slow
@pytest.mark.usefixtures("same_twin")
def test_a_card_that_the_private_twin_does_not_bear_out_is_marked(suite, handed):
    """Who knows the frozen cases by heart beside who is asked others; the page says it."""
    runs = suite[0]
    words = ["lora-down", "--quick", "--runs", str(runs), "--folder", str(handed.parent)]
    assert main([*words, "--twin"]) == 0
    twin = handed.parent.with_name("examined-twin") / NAME

    def find_mark():
        assert report.main(["--leaderboard", str(handed.parent), "--runs", str(runs)]) == 0
        (entry,) = json.loads((handed.parent / "leaderboard.json").read_text())["editors"]
        assert f"private twin: {entry['about']['private twin']}" in (handed.parent / "index.html").read_text()
        return entry["about"]["private twin"]

    assert find_mark() == "bears it out"
    know_by_heart(handed, examine.find_suite("quick", runs))
    assert "coherence gained" in find_mark().partition("does not bear out ")[2]
    change_card(twin, lambda card, own: card.update(code=""))
    seal(twin)
    assert find_mark() == "its card is of another editor, or of other settings"
    shutil.rmtree(twin)
    shutil.copytree(handed, twin)
    assert find_mark() == "its card is of the suite quick"


@pytest.mark.usefixtures("same_twin")
def test_a_card_of_a_private_twin_that_is_not_here_is_named(suite, handed):
    change_card(
        handed,
        lambda card, own: card.update(suite="quick-twin", title=f"the private twin of {card['title']}"),
    )
    seal(handed)
    with pytest.raises(InputError, match="secret does not lie"):
        suite[2].check(handed)
    examine.find_suite("quick", suite[0], True)
    with pytest.raises(InputError, match=r"demo is not the suite's \(world, corpus, cases"):
        suite[2].check(handed)


@pytest.mark.usefixtures("same_twin")
def test_a_card_of_the_private_twin_is_none_of_the_suite(suite, handed, capsys):
    words = ["lora-down", "--quick", "--runs", str(suite[0]), "--folder", str(handed.parent), "--twin"]
    assert main(words) == 0
    shutil.copytree(handed.parent.with_name("examined-twin") / NAME, handed.with_name("of-the-twin"))
    assert report.main(["--leaderboard", str(handed.parent), "--runs", str(suite[0])]) == 0
    assert "of-the-twin is left out" in " ".join(capsys.readouterr().out.split())
    (entry,) = json.loads((handed.parent / "leaderboard.json").read_text())["editors"]
    assert entry["folder"] == NAME


def test_who_knows_the_suite_by_heart_is_marked_by_the_twin(suite, handed):
    """What it wins on the frozen cases, it does not win on cases that it has not seen."""
    checked = suite[2].check(handed)

    def with_differences(low, high, verdict):
        over = {"difference": (low + high) / 2, "low": low, "high": high, "verdict": verdict}
        number = {"value": 0.5, "low": 0.4, "high": 0.6, "cases": 6, "over no edit": over}
        return checked._replace(made=checked.made | {"numbers": {"states the request": number}})

    by_heart, unknown = with_differences(0.8, 1.0, "better"), with_differences(-0.1, 0.1, "unsure")
    assert find_unborne(by_heart, unknown) == ["states the request"]
    assert not find_unborne(by_heart, with_differences(0.7, 0.9, "better"))
    assert not find_unborne(unknown, by_heart)
    assert check_seal(handed).examined == "lora-down"
    assert np.isfinite(list(checked.seconds.values())).all()
