"""The notebook of the docs: short, without outputs that would grow old, and every cell runs on the demo."""

import json
import shutil
import subprocess
import sys
import time

import pytest

from tests.runs import ROOT

NOTEBOOK = ROOT / "docs" / "tour.ipynb"


def test_it_is_short_and_holds_no_outputs():
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    assert 10 <= len(cells) <= 15
    for cell in cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.slow
def test_every_cell_runs_within_five_minutes(tmp_path):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    pytest.importorskip("pandas")
    demo = [sys.executable, "-m", "testbed.demo", "--runs", str(tmp_path / "runs")]
    subprocess.run(demo, cwd=ROOT, check=True, capture_output=True)
    (tmp_path / "docs").mkdir()
    shutil.copy(NOTEBOOK, tmp_path / "docs")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    began = time.monotonic()
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path / "docs"}}
    ).execute()
    assert time.monotonic() - began < 300
    shown = ["".join(str(out.get("data", "")) for out in cell.get("outputs", [])) for cell in notebook.cells]
    assert sum("<table" in text for text in shown) >= 5
    assert any("image/svg+xml" in text for text in shown)
    for out in (out for cell in notebook.cells for out in cell.get("outputs", [])):
        assert out["output_type"] in ("execute_result", "stream"), "nothing shows itself twice"
        assert out["output_type"] == "stream" or out["data"]["text/plain"].strip()
