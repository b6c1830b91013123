"""What a result depends on: settings as data, and a hash of all the code that made it, read and never run."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from lm.editors.lora import LoraConfig
from testbed.engine import identity as identity_module
from testbed.engine.catalogue import default_configurations, editor_entries
from testbed.engine.controls import RetrainConfig
from testbed.engine.controls.retrain import Retrain
from testbed.engine.identity import PROJECT, code_of, method_identity, modules_of
from testbed.engine.makers import MAKERS, code_of_stage
from testbed.engine.tuning import method_named
from testbed.run.runs import Run
from testbed.run.settings import as_plain_data
from testbed.settings import EditSettings

ROOT = Path(__file__).parents[1]
BUILT_IN = {name: e.build.partition(":")[0] for name, e in editor_entries().items()}
CACHED = (code_of, identity_module._read_module, identity_module._source_file)


def forget():
    for function in CACHED:
        function.cache_clear()


READ, READING = {}, identity_module._read_module.__wrapped__
"""What was found in each text of a module, so that of a copy only what was changed is read again."""


def read_once(module):
    key = module, identity_module._source_file(module).read_bytes()
    if key not in READ:
        READ[key] = READING(module)
    return READ[key]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A copy of the project's code that may be changed."""
    for package in PROJECT:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(identity_module, "HOME", tmp_path)
    monkeypatch.setattr(identity_module, "_read_module", read_once)
    forget()
    yield tmp_path
    forget()


def hashes():
    forget()
    return {name: code_of(module) for name, module in BUILT_IN.items()}


def changed(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_constant_changes_whoever_uses_it_and_nobody_else(project):
    before = hashes()
    changed(project / "lm" / "editors" / "associations.py", "ROWS_AT_ONCE = 8", "ROWS_AT_ONCE = 9")
    after = hashes()
    assert {name for name in before if before[name] != after[name]} == {"rome", "memit"}
    changed(project / "lm" / "editors" / "self_bayes" / "reasoning.py", "MOST_PEERS = 256", "MOST_PEERS = 9")
    changed(project / "lm" / "editors" / "none" / "method.py", "jnp.zeros(0)", "jnp.zeros(1)")
    last = hashes()
    assert {name for name in after if after[name] != last[name]} == {
        "self-bayes", "self-bayes-told", "count-based", "none", "keyed", "keyed-told", "keyed-counting",
    }  # fmt: skip


def test_words_about_code_change_nothing(project):
    before = hashes()
    path = project / "lm" / "editors" / "associations.py"
    changed(path, "ROWS_AT_ONCE = 8", "\n\n# A comment.\nROWS_AT_ONCE = (8)  # Another.\n'''And its text.'''")
    changed(path, '"""What the corpus says about', '"""What a corpus says of')
    changed(
        project / "lm" / "editors" / "fitting.py",
        '    """The layer at a share of',
        '    """A layer at a share of',
    )
    changed(project / "lm" / "editors" / "lora" / "__init__.py", "search={", "search={} and {")
    changed(project / "testbed" / "engine" / "catalogue.py", "FAMILIES = (", "FAMILIES = (0, ")
    assert hashes() == before


def test_names_of_locals_and_annotations_change_nothing(project):
    """And the same names in other places do."""
    before = hashes()
    path = project / "lm" / "editors" / "associations.py"
    changed(path, "diagonal", "mean_square")
    changed(path, "lacking = -len", "missing: int = -len")
    changed(path, "(0, lacking)", "(0, missing)")
    types = "config: RomeConfig, request: Request, contexts: jax.Array) -> Request:"
    changed(path, types, "config, request, contexts):")
    assert hashes() == before
    changed(path, "shrink * mean_square * np", "mean_square * shrink * np")
    after = hashes()
    assert {name for name in before if before[name] != after[name]} == {"rome", "memit"}


def test_text_that_is_used_counts(project):
    before = code_of(BUILT_IN["rome"])
    changed(project / "lm" / "editors" / "entry.py", "must be a positive number", "must be above zero")
    forget()
    assert code_of(BUILT_IN["rome"]) != before


LOADED = """
import json, sys
__import__(sys.argv[1])
print(json.dumps([m for m in sys.modules if m.partition(".")[0] in ("corpus", "bayes", "lm", "testbed")]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["self-bayes", "retrain"])
def test_everything_that_is_loaded_is_counted(name):
    """Against Python itself: what importing the module loads of the project."""
    module = BUILT_IN[name]
    done = subprocess.run(
        [sys.executable, "-c", LOADED, module], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert set(json.loads(done.stdout)) <= modules_of(module)


def test_no_editor_depends_on_the_list_of_editors():
    for module in BUILT_IN.values():
        modules = modules_of(module)
        assert "testbed.engine.catalogue" not in modules
        assert not modules & {"testbed.settings", "testbed.presets", "testbed.console"}
    assert not {m for m in modules_of(BUILT_IN["rome"]) if "lora" in m or "memit" in m}


def test_results_do_not_depend_on_the_commands():
    """The package itself is part of every identity, so it imports nothing that stands at the door."""
    door = {path.stem for path in (ROOT / "testbed").glob("*.py")} - {"__init__", "own", "protocol"}
    door.add("commands")
    reached = {name for name in modules_of("testbed.engine.sweep") if name.startswith("testbed.")}
    assert "testbed.engine.worker" in reached
    assert not {name.split(".")[1] for name in reached} & door


def test_it_is_quick_and_loads_nothing():
    """Against what Python itself takes to parse the same files, however busy the machine is."""
    program = """
import ast, sys, time
from testbed.engine.identity import _source_file, code_of, modules_of
module = "lm.editors.self_bayes.method"
began = time.process_time()
code_of(module)
took = time.process_time() - began
texts = [_source_file(name).read_bytes() for name in modules_of(module)]
began = time.process_time()
trees = [ast.parse(text) for text in texts]
print(took / (time.process_time() - began), "jax" in sys.modules)
"""
    took = []
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
        )
        times, jax = done.stdout.split()
        assert jax == "False"
        took.append(float(times))
    assert min(took) < 10


def test_a_users_own_code_counts_with_its_siblings(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "mine").mkdir()
    files = {
        "mine/__init__.py": "",
        "mine/editor.py": "import numpy\nfrom . import near\nfrom .near import x\nimport lm.editors.memit\n",
        "mine/near.py": "def late():\n    import far\nx = 1\n",
        "far.py": "y = 2\n",
        "types_only.py": "z = 3\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    forget()
    modules = modules_of("mine.editor")
    assert {"mine", "mine.editor", "mine.near", "far", "lm.editors.memit", "lm.editors.rome"} <= modules
    assert not [m for m in modules if m.startswith(("numpy", "jax", "optax"))]
    before = code_of("mine.editor")
    (tmp_path / "far.py").write_text("y = 3\n", encoding="utf-8")
    forget()
    assert code_of("mine.editor") != before
    (tmp_path / "far.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import types_only\n"
    )
    forget()
    assert "types_only" not in modules_of("mine.editor")
    with pytest.raises(ValueError, match="no source of the module nothing_here"):
        code_of("nothing_here")
    forget()


def test_settings_are_data():
    settings = EditSettings(configs=default_configurations() | {"lora-down": LoraConfig(rank=3)})
    lora = method_identity(method_named("lora-down", settings, None))
    assert lora["editor"] == "lm.editors.lora.method:Lora"
    assert lora["settings"]["matrices"] == ["down"]
    assert lora["settings"]["config"]["rank"] == 3
    assert lora["facts"] == "testbed.engine.methods:the_request"
    assert json.loads(json.dumps(lora)) == lora
    other = method_identity(
        method_named("lora-down", replace(settings, configs=default_configurations()), None)
    )
    assert {key for key in lora if lora[key] != other[key]} == {"settings"}
    random = method_identity(method_named("random-target", settings, None))
    assert {key for key in lora if lora[key] != random[key]} == {"facts", "code"}


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


def test_a_changed_forward_pass_or_sampler_is_other_code(project):
    before = {stage: code_of_stage(stage) for stage in MAKERS}
    changed(project / "lm" / "model.py", "mean_square + self.epsilon", "mean_square - self.epsilon")
    forget()
    assert code_of_stage("train") != before["train"]
    assert code_of_stage("corpus") == before["corpus"]
