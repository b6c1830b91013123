"""The walker itself: which commands of a page it types, at what sizes, and what it says of one that fails."""

import json

import pytest

from tests.runs import ROOT
from tests.walks import __main__ as walks
from tests.walks import sizes
from tests.walks.__main__ import Step, make_step, read_steps, shrink, walk, why_left_out

PAGE = """# A page

```
make demo      # all of it
python -m testbed.edit tiny && \\
    python -m testbed.report      # and a page
# only a remark
```

```
0.80 stone maker    shown, not typed
```

`mine.py`, beside `door.py`:

```python
print("mine")
```

```python
def edit(model):
    ...
```

```
python mine.py
false
python -m testbed.never
```
"""


def test_commands_stand_where_the_page_has_them_and_output_is_not_typed():
    steps = list(read_steps("p.md", PAGE))
    assert [(step.line, step.text.partition(" ")[0], step.file) for step in steps] == [
        (4, "make", ""), (5, "python", ""), (17, 'print("mine")\n', "mine.py"), (26, "python", ""),
        (27, "false", ""), (28, "python", ""),
    ]  # fmt: skip
    small = shrink(steps[1])
    assert small.index(sizes.FEW_CASES) < small.index("&&") < small.index("testbed.report") < small.index("#")
    assert why_left_out(steps[0])
    assert not any(why_left_out(step) for step in steps[1:])


def test_a_walk_ends_at_what_fails_and_names_page_line_command_and_output(tmp_path, monkeypatch, capsys):
    (tmp_path / "start").mkdir()
    page = PAGE.replace("testbed.edit tiny && \\\n    python -m testbed.report", "this")
    (tmp_path / "p.md").write_text(page, encoding="utf-8")
    monkeypatch.setattr(walks, "ROOT", tmp_path)
    assert walk(("p.md",), tmp_path / "start", tmp_path / "there") == (3, 1)
    said = capsys.readouterr().out
    assert "p.md:26  FAILED  false\nexit code 1" in said
    assert "testbed.never" not in said


def test_what_a_command_must_not_print_fails_it(tmp_path):
    step = Step("p.md", 1, "python -c 'print(\"x reads y and does not say so\")'")
    assert make_step(step, tmp_path).startswith("it says 'does not say so'")


@pytest.mark.parametrize("words", [*sizes.LEFT_OUT, *sizes.NEEDS, *(words for words, _ in sizes.SIZES)])
def test_whatever_is_declared_is_there(words):
    """A declaration that fits no line is of a page that has changed."""
    pages = [page for some in sizes.PAGES for page in some]
    steps = [step for page in pages for step in read_steps(page, (ROOT / page).read_text(encoding="utf-8"))]
    assert any(words in f"{step.file} {step.text}" for step in steps)


def test_the_notebook_is_short_and_holds_no_outputs():
    cells = json.loads((ROOT / "docs" / "tour.ipynb").read_text(encoding="utf-8"))["cells"]
    assert 10 <= len(cells) <= 17
    for cell in cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


def test_a_comment_asks_for_no_package(monkeypatch):
    monkeypatch.setattr(walks, "find_spec", lambda _: None)
    line = "python -m testbed.example my_editor       # or my_torch_editor"
    assert not why_left_out(Step("a", 1, line))
    assert why_left_out(Step("a", 1, line.replace("my_editor", "my_torch_editor"))).startswith("needs torch")
