"""Whatever surrounds a process: the same numbers, or one message; names of runs stay in their folder."""

import pytest

from testbed import corpus
from tests.attack.circumstances import main
from tests.runs import WORLD

AROUND = (
    "assertions off", "warnings are errors", "another order of sets", "an ASCII locale", "no home",
    "no folder for what is temporary", "no output", "a full output", "few open files",
    "no rights in new files", "no such platform", "a folder that is gone",
)  # fmt: skip
"""Those that a command meets on strangers' machines; `make attack` has the others."""
NAMES = [
    "a b",
    "\u00e4",
    "..",
    ".",
    "a/b",
    "",
    "x\ny",
    "n" * 300,
    "%s{0}",
    "$(ls)",
    "-x",
    "x/",
    "../out",
    "/tmp/out",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("circumstances")


@pytest.mark.slow
@pytest.mark.parametrize("name", AROUND)
def test_odd_circumstances_change_no_number_and_end_in_no_traceback(name, folder, capsys):
    bad = main(folder, [name], most=1)
    with capsys.disabled():
        print(f"\n{capsys.readouterr().out}")
    assert not bad


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_a_name_of_a_run_never_leads_out_of_its_folder(name, tmp_path, capsys):
    runs = tmp_path / "some" / "runs"
    try:
        code = corpus.main(["--runs", str(runs), f"--run={name}", *WORLD])
    except SystemExit as ended:
        code = ended.code
    assert code in (0, 2)
    assert "Traceback" not in capsys.readouterr().err
    assert all(path.is_relative_to(runs) for path in tmp_path.rglob("*") if path.is_file())
    assert code == 2 or len([*runs.glob("*/config.json")]) == 1
