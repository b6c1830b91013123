"""Editors in a process of their own: the same numbers, and nothing of theirs where scores are made."""

import io
import json
import shutil
import sys
from contextlib import suppress

import jax
import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.examples import my_editor
from lm.delta import LowRank, Rows
from testbed import edit, tune
from testbed.engine.isolation.messages import receive, send
from tests.attack.test_broken_editors import REFUSED, write
from tests.runs import at, complaint, copied

CASES = ["--cases.count", "3"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # The process finds modules in its working folder; the command must not.
    return tmp_path


def answers(runs):
    """All tables of edits but how long they took, by the name of the editor's folder."""
    found = {}
    for path in sorted(runs.glob("x/edits/hase/*/choices.parquet")):
        found[path.parent.name.rpartition("-")[0]] = pq.read_table(path)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["--sequential", "2"]])
def test_an_isolated_editor_makes_the_same_edits(trained, here, monkeypatch, more):
    module = f"mine{len(more)}"
    shutil.copy(my_editor.__file__, here / f"{module}.py")
    runs = copied(trained, here)
    options = ["--my-editor.tries", "2", "--cases.count", "4", *more]
    assert edit.main([f"isolated:{module}:MyEditor", *at(runs), *options]) == 0
    assert module not in sys.modules
    monkeypatch.syspath_prepend(str(here))
    assert edit.main([f"{module}:MyEditor", *at(runs), *options]) == 0
    isolated, within = answers(runs).values()
    assert isolated.equals(within)
    notes = [json.loads(path.read_text()) for path in runs.glob("x/edits/hase/*/notes.json")]
    assert not notes


@pytest.mark.slow
@pytest.mark.parametrize("name", ["UnknownPart", "Raises", "TextState", "NoDataclass"])
def test_mistakes_are_named_as_elsewhere(name, trained, here, capsys):
    how, message = REFUSED[name]
    runs, editor = copied(trained, here), write(here, name, **how)
    assert edit.main([f"isolated:{editor}", *at(runs), *CASES]) == 2
    said = complaint(capsys)
    assert message in said
    assert name in said
    assert said.count("\n") == 1
    assert not (runs / "x" / "edits").exists()


PATCH = "import testbed.engine.records as r; r.is_written = lambda *_: True"
OVERWRITE = "import ctypes; x = model.params['embedding']; ctypes.memset(x.unsafe_buffer_pointer(), 0, 400)"
SEEK = "import gc; assert not [x for x in gc.get_objects() if type(x).__name__ in ('Questions', 'World')]"


@pytest.mark.slow
def test_what_it_does_to_its_own_process_reaches_no_score(trained, here):
    """Patches of the scorer and of the weights change nothing; the gold is not to be found."""
    runs = copied(trained, here)
    plain = write(here, "Calm")
    wild = write(here, "Wild", prepare=f"{SEEK}; {PATCH}; {OVERWRITE}; print('hello')")
    assert edit.main([f"isolated:{plain}", f"isolated:{wild}", *at(runs), *CASES]) == 0
    calm, wild = answers(runs).values()
    assert calm.equals(wild)


ENDINGS = {
    "Quits": ({"prepare": "import os; os._exit(7)"}, "has ended its process (code 7)"),
    "QuitsLate": (
        {"edit": "jax.debug.callback(lambda: __import__('os')._exit(7)); " + "return {}, DONE"},
        "has ended its process (code 7)",
    ),
    "Writes": ({"prepare": "open('x/world/new', 'w').close()"}, "has written or removed"),
}


@pytest.mark.parametrize(
    "name", ["Writes", *(pytest.param(n, marks=pytest.mark.slow) for n in ENDINGS if n != "Writes")]
)
def test_what_it_may_not_do_is_one_message(name, trained, here, capsys):
    how, message = ENDINGS[name]
    runs, editor = copied(trained, here), write(here, name, **how)
    assert edit.main([f"isolated:{editor}", *at(runs), *CASES]) == 2
    assert message in complaint(capsys)
    assert not list(runs.glob("x/edits/hase/*/cases.parquet"))


@pytest.mark.slow
def test_what_it_reads_is_told(trained, here, capsys):
    runs = copied(trained, here)
    editor = write(here, "Reads", prepare="open('x/world/names.json').close()")
    assert edit.main([f"isolated:{editor}", *at(runs), *CASES]) == 0
    assert f"reads:Reads reads {runs / 'x/world/names.json'} and does not say so" in capsys.readouterr().out


FIELDS = '''
from dataclasses import dataclass
from typing import ClassVar, Literal
import jax.numpy as jnp
from lm.delta import Rows
from lm.editors.interface import Editor, Info

@dataclass(frozen=True)
class Inner:
    rate: float = 0.5
    names: tuple[str, ...] = ("a",)

@dataclass(frozen=True)
class Outer(Editor):
    """An editor with fields of every kind."""
    inner: Inner = Inner()
    way: Literal["up", "down"] = "up"
    most: int | None = None
    gentle: bool = False
    SEARCH: ClassVar = {"way": ("up", "down")}

    def __post_init__(self):
        if self.inner.rate < 0:
            raise ValueError("rate must not be negative")

    def edit(self, model, state, request, key):
        by = self.inner.rate * len(self.inner.names) * (self.most or 1) * (-1 if self.way == "down" else 1)
        rows = Rows(request.answer[:, 0], jnp.full((len(request.answer), model.config.hidden), by))
        return {"embedding": rows}, Info(jnp.zeros(1), *[jnp.int32(1)] * 3)
'''


@pytest.mark.slow
def test_its_fields_are_options_and_are_searched(trained, here, capsys):
    (here / "outer.py").write_text(FIELDS, encoding="utf-8")
    runs = copied(trained, here)
    name, common = "isolated:outer:Outer", [*at(runs), *CASES]
    some = ["--outer.inner.rate", "0.25", "--outer.inner.names", "a", "b", "--outer.most", "3"]
    assert edit.main([name, *common, *some, "--outer.way", "down"]) == 0
    config = json.loads(next(runs.glob("x/edits/hase/*/config.json")).read_text(encoding="utf-8"))
    assert config["method"]["settings"] == {
        "inner": {"rate": 0.25, "names": ["a", "b"]}, "way": "down", "most": 3, "gentle": False,
    }  # fmt: skip
    assert tune.main([name, *common, "--trials", "2"]) == 0
    capsys.readouterr()
    assert edit.main([name, *common, "--outer.inner.rate", "-1"]) == 2
    assert "in its settings: ValueError: rate must not be negative" in complaint(capsys)


@pytest.mark.slow
def test_a_field_that_cannot_be_told_is_named(trained, here, capsys):
    text = FIELDS.replace("most: int | None = None", "most: frozenset = frozenset()")
    (here / "sets.py").write_text(text, encoding="utf-8")
    assert edit.main(["isolated:sets:Outer", *at(copied(trained, here))]) == 2
    assert "the field most is a <class 'frozenset'>, which cannot be told" in complaint(capsys)


leaves = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=3), st.floats(allow_nan=False),
    st.sampled_from([np.float32, np.int32, np.uint32, bool]).map(lambda kind: np.ones((2, 0, 3), kind)),
    st.integers(0, 5).map(lambda n: np.arange(n, dtype=np.float32)),
    st.just(jax.ShapeDtypeStruct((3, 1), np.dtype("float32"))),
)  # fmt: skip
trees = st.recursive(
    leaves,
    lambda below: st.one_of(
        st.lists(below, max_size=3),
        st.lists(below, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=3), below, max_size=3),
        st.builds(LowRank, below, below),
        st.builds(Rows, below, below),
    ),
    max_leaves=8,
)


@given(tree=trees)
@settings(max_examples=50, deadline=None)
def test_a_message_arrives_as_it_was_sent(tree):
    stream = io.BytesIO()
    send(stream, {"tree": tree})
    send(stream, {"more": 1})
    stream.seek(0)
    arrived = receive(stream)["tree"]
    assert jax.tree.structure(arrived) == jax.tree.structure(tree)
    for came, went in zip(jax.tree.leaves(arrived), jax.tree.leaves(tree), strict=True):
        assert type(came) is type(went)
        if isinstance(went, np.ndarray):
            assert came.dtype == went.dtype
            assert came.shape == went.shape
            assert np.array_equal(came, went)
        else:
            assert came == went
    assert receive(stream) == {"more": 1}


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_what_is_no_message_is_refused(data):
    stream = io.BytesIO()
    send(stream, {"tree": [np.arange(3), Rows(np.ones(2), 1), "word"], "read": []})
    content = bytearray(stream.getvalue())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with suppress(EOFError, ValueError):
        receive(io.BytesIO(bytes(content)))
