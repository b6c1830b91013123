"""What a result depends on: settings as data, declared versions, a user's own source, read and never run."""

import json
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from lm.editors.lora import LoraConfig
from testbed.engine.catalogue import default_configurations, editor_entries
from testbed.engine.controls import RetrainConfig
from testbed.engine.controls.retrain import Retrain
from testbed.engine.tuning import method_named
from testbed.engine.versions import find_source, hash_source, identify_method, sources_of
from testbed.run.runs import Run
from testbed.run.settings import as_plain_data
from testbed.settings import EditSettings

ROOT = Path(__file__).parents[1]
MINE = {
    "mine/__init__.py": "",
    "mine/editor.py": "import numpy\nfrom . import near\nfrom .near import x\nimport lm.editors.memit\n",
    "mine/near.py": '"""Says it."""\ndef late():\n    """Loads it."""\n    import far\nx = (1)  # one\n',
    "far.py": "y = 2\n",
}


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A user's package, on Python's path."""
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, text in MINE.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_users_own_code_counts_with_what_it_imports_of_the_users(mine):
    assert sources_of("mine.editor") == {mine / name for name in MINE}
    before = hash_source("mine.editor")
    (mine / "far.py").write_text("y = 3\n", encoding="utf-8")
    assert hash_source("mine.editor") != before
    with pytest.raises(ValueError, match="no source of the module nothing_here"):
        hash_source("nothing_here")


def test_words_about_code_change_nothing(mine):
    before = hash_source("mine.editor")
    text = "'''Says something else.'''\n\n# A comment.\ndef late():\n    import far\n\n\nx = 1\n"
    (mine / "mine/near.py").write_text(text, encoding="utf-8")
    assert hash_source("mine.editor") == before
    (mine / "mine/near.py").write_text(text.replace("x = 1", "x = 2"), encoding="utf-8")
    assert hash_source("mine.editor") != before


def test_a_users_folder_that_moves_is_the_same(mine, tmp_path_factory, monkeypatch):
    before = hash_source("mine.editor")
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "other"
    mine.rename(elsewhere)
    monkeypatch.setattr(sys, "path", [str(elsewhere), *(path for path in sys.path if path != str(mine))])
    assert hash_source("mine.editor") == before


def test_what_is_nobodys_own_has_no_source():
    for name in ("lm.editors.lora", "testbed.edit", "json", "numpy"):
        assert find_source(name) is None
    import experiments

    assert experiments.__path__, "its folders are found once it is imported"
    assert find_source("experiments.my_editor") == ROOT / "experiments" / "examples" / "my_editor.py"


def test_settings_are_data():
    settings = EditSettings(configs=default_configurations() | {"lora-down": LoraConfig(rank=3)})
    lora = identify_method("lora-down", method_named("lora-down", settings, None))
    assert set(lora) == {"editor", "settings", "version"}
    assert lora["editor"] == "lora-down"
    assert lora["settings"]["matrices"] == ["down"]
    assert lora["settings"]["config"]["rank"] == 3
    assert json.loads(json.dumps(lora)) == lora
    usual = method_named("lora-down", replace(settings, configs=default_configurations()), None)
    other = identify_method("lora-down", usual)
    assert {key for key in lora if lora[key] != other[key]} == {"settings"}
    random = identify_method("random-target", method_named("random-target", settings, None))
    assert {key for key in lora if lora[key] != random[key]} == {"editor"}


def test_a_module_that_moves_leaves_results_good(monkeypatch):
    """Nothing of where its code lies, or is called, is part of what a built-in editor's results depend on."""
    settings = EditSettings()
    methods = {name: method_named(name, settings, None) for name in ("lora-down", "rome", "none")}
    before = {name: identify_method(name, method) for name, method in methods.items()}
    for method in methods.values():
        monkeypatch.setattr(type(method.editor), "__module__", "lm.somewhere.else_now")
    assert {name: identify_method(name, method) for name, method in methods.items()} == before
    assert all(identity["version"] == editor_entries()[name].version for name, identity in before.items())
    assert not {word for identity in before.values() for word in ("lm.", "method:") if word in str(identity)}


def test_marked_fields_are_left_out():
    @dataclass(frozen=True)
    class Inner:
        kept: tuple = (1, 2)
        path: Path = field(default=Path("x"), metadata={"result": False})

    @dataclass(frozen=True)
    class Outer:
        inner: Inner = Inner()
        where: Path = Path("y")

    assert as_plain_data(Outer()) == {"inner": {"kept": [1, 2]}, "where": "y"}


def test_training_again_has_one_identity_in_every_run(tmp_path):
    first, second = (Retrain(RetrainConfig(), Run(tmp_path, name), 2.0) for name in ("x-0", "x-1"))
    assert first != second
    assert (
        as_plain_data(first) == as_plain_data(second) == {"config": {"copies": 1.0}, "copies_per_weight": 2.0}
    )
