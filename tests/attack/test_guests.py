"""Editors of others that change weights, process or run, read what they do not say, or are never the same."""

import importlib
import json
import signal
from dataclasses import dataclass, field

import jax
import pyarrow.parquet as pq
import pytest

from corpus.errors import InputError
from testbed import edit
from testbed.engine.checks import check_settings
from testbed.run.runs import Run
from testbed.run.watch import watch_files
from tests.attack.test_broken_editors import write
from tests.runs import at, complaint, copied

CASES = ["--cases.count", "3"]


DONATED = "jax.jit(lambda x: x + 1, donate_argnums=0)(model.params['embedding'])"
POINTER = "import ctypes; x = model.params['embedding']; ctypes.memset(x.unsafe_buffer_pointer(), 0, 400)"
X64 = 'jax.config.update("jax_enable_x64", True)'
PRECISION = 'jax.config.update("jax_default_matmul_precision", "bfloat16")'
HIDES = "import sys, io; sys.stdout, sys.stderr = io.StringIO(), io.StringIO()"
DEAF = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
MOVES = 'import os; os.makedirs("elsewhere", exist_ok=True); os.chdir("elsewhere")'
WRITES = 'from pathlib import Path; Path("x/world/names.json").write_text("{}", encoding="utf-8")'
FACTORS = 'f = noise(model, key); return {"down": f._replace(a=f.a.astype(KIND))}, DONE'
REFUSED = {
    "Doubles": ({"prepare": X64}, "has changed the flag enable_x64 of JAX from False to True"),
    "Rounds": (
        {"prepare": PRECISION},
        "has changed the flag default_matmul_precision of JAX from None to bfloat16",
    ),
    "Hides": ({"prepare": HIDES}, "has changed where lines are printed"),
    "Deaf": ({"prepare": DEAF}, "has changed what an interrupt does"),
    "Checks": (
        {"prepare": 'jax.config.update("jax_debug_nans", True)'}, "has changed the flag debug_nans of JAX"
    ),
    "Moves": ({"prepare": MOVES}, "has changed the working folder"),
    "Masks": ({"prepare": "import os; os.umask(0o777)"}, "has changed the mask of new files"),
    "Writes": ({"prepare": WRITES}, "has written or removed"),
    "Quits": ({"prepare": "import os; os._exit(0)"}, "SystemExit: 0"),
    "Generates": ({"prepare": "raise GeneratorExit"}, "in prepare: GeneratorExit"),
    "Complex": ({"edit": FACTORS.replace("KIND", "complex")}, "has .a of type complex64"),
    "Truths": ({"edit": FACTORS.replace("KIND", "bool")}, "has .a of type bool"),
    "ComplexLoss": (
        {"edit": 'return {"down": noise(model, key)}, DONE._replace(loss=jnp.zeros(1, complex))'},
        "info.loss is of type complex64; give real numbers",
    ),
    "Donates": ({"prepare": DONATED}, "has changed or given away the model's own weights"),
    "Overwrites": ({"prepare": POINTER}, "has changed or given away the model's own weights"),
    "Outside": (
        {"edit": 'return {"embedding": Rows(jnp.array([10**6]), model.params["embedding"][:1])}, DONE'},
        "names the token 1000000 of",
    ),
    "Exits": ({"edit": "raise SystemExit(0)"}, "in edit: SystemExit: 0"),
    "ExitsBefore": ({"prepare": "raise SystemExit(0)"}, "in prepare: SystemExit: 0"),
    "FloatSteps": (
        {"edit": 'return {"down": noise(model, key)}, DONE._replace(steps=jnp.nan)'},
        "info.steps is of type float32; give a whole number",
    ),
    "Unworked": (
        {"edit": 'return {"down": noise(model, key)}, DONE._replace(steps=jnp.int32(-3))'},
        "info.steps is -3",
    ),
    "HugeSteps": (
        {"edit": 'return {"down": noise(model, key)}, DONE._replace(steps=10**30)'},
        "too large to convert to int32",
    ),
    "BadPrefix": (
        {"edit": "from lm.delta import Prefix; from lm.cache import Cache; z = jnp.zeros(3); "
                 'return {"prefix": Prefix(Cache(z, z, z, z, z), jnp.int32(1))}, DONE'},
        "delta['prefix'] .cache .key has shape (3,)",
    ),
    "LateRaise": (
        {"edit": "jax.debug.callback(lambda k: 1 / 0, jnp.int32(1)); "
                 'return {"down": noise(model, key)}, DONE'},
        "ZeroDivisionError",
    ),
}  # fmt: skip


@pytest.fixture
def as_before():
    """An interrupt stops Python, also in a job in the background; what an editor has changed is put back."""
    at_interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, at_interrupt)
    jax.config.update("jax_enable_x64", False)
    jax.config.update("jax_default_matmul_precision", None)
    jax.config.update("jax_debug_nans", False)


LIKE_OTHERS = {"Deaf", "Checks", "Rounds", "Masks", "Truths", "Overwrites", "ExitsBefore", "HugeSteps"}


@pytest.mark.usefixtures("as_before")
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in LIKE_OTHERS else ()) for n in REFUSED]
)
def test_whoever_changes_what_is_not_its_own_is_refused(name, trained, here, capsys):
    how, message = REFUSED[name]
    runs, editor = copied(trained, here), write(here, name, **how)
    assert edit.main([editor, *at(runs), *CASES]) == 2
    said = complaint(capsys)
    assert message in said
    assert name in said
    assert not list(runs.glob("x/edits/hase/*/cases.parquet"))


READS = """import json, os, pathlib
        pathlib.Path("strength.json").read_text(); os.environ.get("STRENGTH")
        pathlib.Path(RUN).read_text()"""


def test_what_is_read_and_not_declared_is_told_and_what_is_declared_counts(
    trained, here, capsys, monkeypatch
):
    runs = copied(trained, here)
    (here / "strength.json").write_text("[1]", encoding="utf-8")
    monkeypatch.setenv("STRENGTH", "1")
    names = runs / "x" / "world" / "names.json"
    text = READS.replace("RUN", repr(str(names)))
    editor = write(here, "Reader", prepare=text)
    assert edit.main([editor, *at(runs), *CASES]) == 0
    said = capsys.readouterr().out
    for name in (here / "strength.json", "$STRENGTH", names):
        assert f"reader:Reader reads {name} and does not say so" in said
    [folder] = Run(runs, "x").edits.glob("hase/*")
    told = json.loads((folder / "notes.json").read_text(encoding="utf-8"))["notes"]
    assert len(told) == 3
    path = here / "declares.py"
    editor = write(here, "Declares", prepare=text)
    declared = 'class Declares:\n    reads = ("strength.json", "$STRENGTH", "x/world/names.json")\n'
    path.write_text(path.read_text("utf-8").replace("class Declares:\n", declared), encoding="utf-8")

    def folders():
        assert edit.main([editor, *at(runs), *CASES]) == 0
        assert "does not say so" not in capsys.readouterr().out
        return set(Run(runs, "x").edits.glob("hase/declares*"))

    once = folders()
    assert folders() == once
    (here / "strength.json").write_text("[2]", encoding="utf-8")
    assert len(folders()) == 2
    monkeypatch.setenv("STRENGTH", "2")
    assert len(folders()) == 3
    (here / "strength.json").unlink()
    assert edit.main([editor, *at(runs), *CASES]) == 2
    assert "says that it reads strength.json" in complaint(capsys)


IMPORTS = """import importlib, pathlib, plain
        importlib.import_module("unseen"); exec(pathlib.Path("script.py").read_text())"""


def test_code_that_no_statement_imports_is_told(trained, here, capsys):
    """Its change would change edits under the same name."""
    for name in ("unseen", "script", "plain"):
        (here / f"{name}.py").write_text("X = 1", encoding="utf-8")
    runs, editor = copied(trained, here), write(here, "Importer", prepare=IMPORTS)
    assert edit.main([editor, *at(runs), *CASES]) == 0
    said = capsys.readouterr().out
    for name in ("unseen", "script"):
        assert f"importer:Importer reads {here / name}.py and does not say so" in said
    assert said.count("does not say so") == 2


def test_what_a_package_looks_up_for_itself_is_not_the_users(here, monkeypatch):
    """PyTorch reads all of the environment."""
    packages = here / "site-packages"
    packages.mkdir()
    (packages / "noisy_package.py").write_text(
        "import os\ndict(os.environ)\nopen(__file__ + '.txt').close()\n"
        "def look_up(name):\n    return os.environ.get(name)\n"
    )
    (packages / "noisy_package.py.txt").touch()
    (here / "its_user.py").write_text(
        "import noisy_package, os\nos.environ.get('MINE')\nnoisy_package.look_up('OURS')\n"
        "exec('os.environ.get(\"TOLD\")')\n"
    )
    monkeypatch.syspath_prepend(packages)
    for name in ("MINE", "OURS", "TOLD", "NOBODYS"):
        monkeypatch.setenv(name, "1")
    with watch_files() as touched:
        importlib.import_module("its_user")
    assert touched.read - {str(here / "its_user.py")} == {"$MINE", "$TOLD"}


@dataclass(frozen=True)
class Alike:
    rate: float = field(default=0.1, compare=False)


class Equal:
    def __eq__(self, _):
        return True

    __hash__ = object.__hash__


@pytest.mark.parametrize(
    ("editor", "what"), [(Alike(), "does not compare rate"), (Equal(), "an __eq__ of its")]
)
def test_editors_that_equal_others_are_refused(editor, what):
    """Of two rates, the second gave the edits of the first before: JAX took one program for both."""
    with pytest.raises(InputError, match=what):
        check_settings(editor)


UNSTABLE = {
    "Draws": {"edit": "import numpy as np; return {'down': noise(model, key, np.random.rand())}, DONE"},
    "Prepares": {"state": "{'x': __import__('numpy').random.rand(3)}"},
    "Calls": {
        "edit": "import numpy as np; r = jax.pure_callback(lambda k: np.float32(np.random.rand()), "
        "jax.ShapeDtypeStruct((), jnp.float32), jnp.int32(1), vmap_method='sequential'); "
        "return {'down': noise(model, key, r)}, DONE"
    },
}
TOLD = {
    "Draws": "draws:Draws is another program each time it is traced",
    "Prepares": "prepares:Prepares prepares another thing each time",
    "Calls": "calls:Calls makes another edit of the same request",
}


@pytest.mark.parametrize(
    "name", ["Calls", *(pytest.param(n, marks=pytest.mark.slow) for n in UNSTABLE if n != "Calls")]
)
def test_edits_that_differ_when_they_are_made_again_are_told(name, trained, here, capsys):
    runs = copied(trained, here)
    assert edit.main([write(here, name, **UNSTABLE[name]), "lora-down", *at(runs), *CASES]) == 0
    said = capsys.readouterr().out
    assert said.count(TOLD[name]) == 1
    [of_ours] = Run(runs, "x").edits.glob("hase/lora-down*")
    assert not (of_ours / "notes.json").exists()


def test_why_an_edit_has_no_numbers_stands_with_it(trained, here):
    bad = 'return {"down": noise(model, key, jnp.where(jax.random.bernoulli(key, 0.5), jnp.nan, 0.1))}, DONE'
    runs = copied(trained, here)
    assert edit.main([write(here, "Halves", bad), *at(runs), "--cases.count", "8"]) == 0
    [folder] = Run(runs, "x").edits.glob("hase/*")
    faults = pq.read_table(folder / "cases.parquet")["fault"].to_pylist()
    assert set(faults) == {"", "delta['down'].a is no number"}
