"""Editors are found where they stand, offered on every command line, and a user's own beside them."""

import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from bayes.request import EditRequest
from corpus.errors import InputError
from lm.editors.entry import Entry
from testbed import ask, edit
from testbed.engine import catalogue
from testbed.engine.catalogue import default_configurations, editor_entries, entry_named
from testbed.engine.prepared_editor import PreparedEditor
from testbed.engine.questions import Questions
from testbed.engine.requests import build_requests
from testbed.engine.run_answers import RunAnswers
from testbed.engine.tuning import method_named
from testbed.launch import configs_of_one, own_configurations
from testbed.run.agents import agent_named
from testbed.run.model import corpus_sample, load_model
from testbed.run.runs import Run
from testbed.run.world import load_world
from testbed.settings import AskSettings, EditSettings
from tests.runs import at, complaint

ROOT = Path(__file__).parents[1]
OWN = "experiments.my_editor:MyEditor"
QUESTION = ["Ada Marlow educated at", "--edit", "Ada Marlow educated at = Quintal College"]
FAMILY = '''
from dataclasses import dataclass
from lm.editors.entry import Entry

@dataclass(frozen=True)
class ShinyConfig:
    """An editor that was not there before."""
    polish: float = 0.5
    """How much."""

EDITORS = (Entry("shiny", "nothing yet", "lm.editors.none.method:NoEdit", ShinyConfig()),)
'''
OWN_EDITOR = '''
from dataclasses import dataclass
from experiments.my_editor import MyEditor

@dataclass(frozen=True)
class {name}(MyEditor):
    """One of my own."""
    {body}
'''


def test_a_new_editor_is_found_by_standing_there(tmp_path):
    """No list is edited: a folder more, and command line and names have it; and none of it loads JAX."""
    (tmp_path / "shiny").mkdir()
    (tmp_path / "shiny" / "__init__.py").write_text(FAMILY, encoding="utf-8")
    program = f"""
import sys, lm.editors
lm.editors.__path__.append({str(tmp_path)!r})
from testbed.engine.catalogue import editor_entries
from testbed.settings import AskSettings, EditSettings
assert "shiny" in editor_entries()
assert "shiny" in EditSettings().configs and "shiny" in AskSettings().configs
assert not {{"jax", "numpy"}} & sys.modules.keys()
from testbed import edit
edit.main(["tiny", "shiny", "--help"])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "--shiny.polish" in done.stdout
    assert "An editor that was not there before." in done.stdout


def test_options_are_spelt_after_their_editors():
    """Every editor with hyper-parameters has options of its name, or takes those of one that has."""
    assert default_configurations().keys() == default_configurations(small=True).keys()
    assert EditSettings().configs == default_configurations()
    assert AskSettings().configs == default_configurations(small=True)
    for name, entry in editor_entries().items():
        assert entry.name == name
        assert entry.about
        assert entry.config is None or entry.options == name
        assert entry.options == name or editor_entries()[entry.options].config is not None
        assert type(entry.config) is type(default_configurations(small=True).get(name))
    settings = EditSettings(configs=default_configurations(small=True))
    assert settings.configs["rome"].token == "last"


def test_the_docs_list_every_editor():
    text = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    table = text.partition("# Editors")[2].partition("Every edit is one model")[0].strip()
    rows = [f"| `{entry.name}` | {entry.about} |" for entry in editor_entries().values()]
    assert table.splitlines() == ["| name | what it changes |", "|---|---|", *rows]


def test_a_search_names_settings_and_choices_that_there_are():
    with pytest.raises(ValueError, match="nothing called depht"):
        Entry("x", "y", "z", default_configurations()["rome"], search={"depht": (1.0,)})
    with pytest.raises(ValueError, match="not among the choices"):
        Entry("x", "y", "z", default_configurations()["rome"], search={"token": ("first", "other")})
    with pytest.raises(ValueError, match="positive numbers"):
        Entry("x", "y", "z", default_configurations()["rome"], search={"rate": ("fast",)})


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Writes a module of the user's into the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(module, name, body="pass"):
        text = OWN_EDITOR.format(name=name, body=body)
        (tmp_path / f"{module}.py").write_text(text, encoding="utf-8")
        return f"{module}:{name}"

    yield write
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)


def test_a_users_own_has_options_of_its_class(own):
    name = own("mine_a", "LoRAPlus_2", "rank: int = 3")
    configs = own_configurations(["tiny", "lora-down", name, "--seed", "3"])
    assert [(key, type(x).__name__, x.rank) for key, x in configs.items()] == [
        ("lo-ra-plus-2", "LoRAPlus_2", 3)
    ]
    assert own_configurations([f"--editors={name}"]).keys() == configs.keys()
    assert own_configurations(["--editor", name]).keys() == configs.keys()


def test_where_one_editor_is_asked_only_its_options_are_offered():
    configs = default_configurations()
    assert configs_of_one(configs, ["question"], "lora-down").keys() == {"lora-down"}
    assert configs_of_one(configs, ["--editor", "rome"], "lora-down").keys() == {"rome"}
    assert configs_of_one(configs, ["--editor=random-target"], "rome").keys() == {"lora-down"}
    assert configs_of_one(configs, ["--editor", "none"], "rome") == {}
    assert configs_of_one(configs, ["--editor", "romme"], "rome") == configs


def test_names_of_built_in_editors_stay_theirs(own):
    name = own("mine_b", "Rome")
    assert entry_named(name).options == "mine-b-rome"
    assert own_configurations([name]).keys() == {"mine-b-rome"}


def test_what_only_looks_like_an_editor_is_left_alone(own):
    assert own_configurations(["--world.pair", "P69:P106", "--run", "no_module:X"]) == {}
    assert own_configurations(["lora-down", "--seed", "1", "a/b:c", ":x", "x:"]) == {}
    own("mine_c", "Fine")
    assert own_configurations(["--evaluation", "mine_c:dataclass"]) == {}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("SEARCH = {'nothing': (1.0,)}", "SEARCH does not fit"),
        ("SEARCH = 3", "SEARCH does not fit"),
        ("needed: int", "line 5"),
        ("SEARCH = {'longest': (0.0,)}", "factors on longest must be positive"),
        ("def __post_init__(self): raise ValueError('never')", "frozen dataclass with defaults"),
        ("x: list = __import__('dataclasses').field(default_factory=list)", "frozen dataclass with defaults"),
        ("def", "line 8"),
    ],
)
def test_own_editors_that_cannot_be_used(body, message, own, capsys):
    name = own("mine_d", "Bad", body)
    assert edit.main([name]) == 2
    error = complaint(capsys)
    assert name in error
    assert message in error


def test_two_of_one_name_cannot_share_their_options(own):
    names = [own("mine_e", "Same"), own("mine_f", "Same")]
    with pytest.raises(InputError, match="both have options --same; rename one"):
        own_configurations(names)


def test_nothing_is_imported_that_was_not_named(monkeypatch):
    def refuse(*given):
        raise AssertionError(given)

    monkeypatch.setattr(catalogue, "import_own", refuse)
    assert own_configurations(["tiny", "rome", "--cases.count", "3"]) == {}


@pytest.mark.parametrize(
    "name",
    [
        "none",
        *(pytest.param(n, marks=pytest.mark.slow) for n in ("random-target", "rome", "mend", "retrain")),
    ],
)
def test_ask_edits_by_any_editor(name, trained, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert ask.main([*QUESTION, "--editor", name, *at(trained)]) == 0
    out = capsys.readouterr().out
    assert f"edit by {name}: Ada Marlow educated at = Quintal College" in out
    assert "edited model" in out


@pytest.mark.slow
def test_ask_edits_by_a_users_own(trained, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    shown = []
    for longest in ("1e-6", "3"):
        asked = [*QUESTION, "--editor", OWN, "--my-editor.longest", longest, *at(trained)]
        assert ask.main(asked) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] != shown[1], "its options are heard"


@pytest.mark.slow
def test_ask_makes_the_edit_that_a_sweep_makes(trained):
    """The delta of a question's edit is that of the same request as the first case of a sweep."""
    run = Run(trained, "x")
    world = load_world(run)
    model, _ = load_model(run, world)
    settings = EditSettings(run="x", runs=trained, configs=default_configurations(small=True))
    answers = RunAnswers(world, model, agent_named("paper", world))
    s, r = (int(world.graph.subject[0]), int(world.graph.relation[0]))
    fact = (s, r, int(world.graph.objects[3]))
    case = answers.case_of_edit(EditRequest(*fact), 0.95, "evidence", [(s, r)])
    for name in ("lora-down", "rome"):
        method = method_named(name, settings, world)
        sample = corpus_sample(run, world, [case], 0)
        state = method.editor.prepare(model, sample)
        requests = build_requests(world.tokenizer, [case], [method.facts_told(case)])
        prepared = PreparedEditor(Questions(world, model, [case]), method, state, requests, 0)
        swept = prepared.edit(np.array([[0]])).deltas
        asked = answers.delta_of_edit(method, run, case, 0)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a[0], b, rtol=1e-4, atol=1e-6), swept, asked)


def test_ask_says_what_it_cannot_do(trained, capsys):
    assert ask.main([*QUESTION, "--editor", "romme", *at(trained)]) == 2
    assert "unknown editor 'romme'" in complaint(capsys)
    assert ask.main([*QUESTION, "--editor", "rome", "--tuned", "dev", *at(trained)]) == 2
    assert "python -m testbed.tune rome --run dev" in complaint(capsys)
