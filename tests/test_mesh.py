"""However training is laid over devices and processes, it is the same training."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import jax
import numpy as np
import pyarrow.parquet as pq
import pytest

from lm import cluster
from lm.checkpoints import load_checkpoint
from testbed import edit, train
from tests import many_devices
from tests.runs import QUICKLY, RECIPE, ROOT, at, complaint, copied, measurements, parameters, python

WAITING = r"(?:[a-z0-9,: ]+ \.\.\.\n)*"
"""What a command may say on a slow machine before anything else."""
EIGHT = {**os.environ, "XLA_FLAGS": f"--xla_force_host_platform_device_count=8 {QUICKLY}"}
# Matrices that every device holds whole: heads take 12 columns, the MLP 24; the vocabulary has 24 tokens.
WHOLE = {
    "muon-4x2": set(),
    "adamw-4x2": set(),
    "muon-1x8": {"query", "key", "value", "out"},
    "muon-8x1": {"query", "key", "value", "out", "gate", "up", "down", "embedding", "head"},
}


@pytest.fixture(scope="module")
def layouts(tmp_path_factory):
    """What tests/many_devices.py found, and where."""
    folder = tmp_path_factory.mktemp("layouts")
    command = [sys.executable, "-m", "tests.many_devices", str(folder), *many_devices.LAYOUTS]
    done = subprocess.run(command, cwd=ROOT, env=EIGHT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    by_layout = json.loads((folder / "losses.json").read_text(encoding="utf-8"))
    assert set(by_layout) == set(many_devices.LAYOUTS)
    return folder, by_layout


def sharded(by_layout):
    """Layouts of more than one device, and the one of the same optimizer that has one."""
    return [(many, f"{many.split('-')[0]}-1x1") for many in by_layout if not many.endswith("1x1")]


@pytest.mark.slow
def test_layouts_train_alike(layouts):
    folder, by_layout = layouts
    for many, one in sharded(by_layout):
        np.testing.assert_allclose(
            by_layout[many]["losses"], by_layout[one]["losses"], rtol=1e-5, err_msg=many
        )
        assert by_layout[one]["losses"][-1] < by_layout[one]["losses"][0]
        with np.load(folder / f"{one}.npz") as expected, np.load(folder / f"{many}.npz") as got:
            assert set(expected) == set(got)
            for key in expected:
                np.testing.assert_allclose(
                    got[key], expected[key], rtol=1e-3, atol=1e-5, err_msg=f"{many} {key}"
                )


@pytest.mark.slow
def test_a_layout_compiles_once(layouts):
    assert {name: layout["programs"] for name, layout in layouts[1].items()} == dict.fromkeys(layouts[1], 1)


@pytest.mark.slow
def test_each_device_holds_its_part(layouts):
    for many, one in sharded(layouts[1]):
        _, data, model = many_devices.named(many)
        parts, full = layouts[1][many]["parts"], layouts[1][one]["parts"]
        axis_of = dict.fromkeys(("query", "key", "value", "gate", "up", "head"), -1)
        axis_of |= dict.fromkeys(("out", "down", "embedding"), -2)
        for key, shape in full.items():
            expected = list(shape)
            matrices = [name for name in key.split(".") if name in axis_of]
            if key == "tokens":
                expected[0] //= data
            elif matrices and len(shape) > 1 and matrices[0] not in WHOLE[many]:
                expected[axis_of[matrices[0]]] //= model
            assert parts[key] == expected, (many, key)


@pytest.mark.slow
def test_a_checkpoint_goes_from_one_layout_to_another(layouts):
    folder, by_layout = layouts
    restored = json.loads((folder / "restored.json").read_text(encoding="utf-8"))
    assert len(restored) == 2 * len({name.split("-")[0] for name in by_layout})
    assert set(restored.values()) == {True}
    (path,) = (folder / "adamw-4x2").iterdir()
    here = many_devices.arrays(load_checkpoint(path, many_devices.like("adamw", 1, 1)))
    with np.load(folder / "adamw-4x2.npz") as saved:
        assert set(saved) == set(here)
        for key in here:
            np.testing.assert_array_equal(here[key], saved[key], err_msg=key)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--mesh.data", "2"], "a mesh of 2 x 1 (--mesh.data x --mesh.model) does not fit the 1 devices"),
        (["--mesh.model", "2"], "a mesh of 1 x 2"),
        (["--mesh.data", "3"], "--train.rows 8 must be a multiple of --mesh.data 3"),
    ],
)
def test_a_mesh_that_does_not_fit(args, message, built, tmp_path, capsys):
    runs = copied(built, tmp_path)
    assert train.main([*at(runs), *RECIPE, *args]) == 2
    said = complaint(capsys)
    assert message in said
    assert said.count("\n") == 1
    assert not (runs / "x" / "lm").exists()


@pytest.mark.parametrize("value", [0.1, np.float32(0.1), 1])
def test_a_value_arrives_to_the_last_bit(value, monkeypatch):
    """Sent in words of 32 bits, as JAX has them."""
    monkeypatch.setattr(cluster.jax, "process_count", lambda: 2)
    monkeypatch.setattr(cluster.multihost_utils, "broadcast_one_to_all", np.asarray)
    assert cluster.broadcast_value(value) == value


def free_port():
    with socket.create_server(("", 0)) as server:
        return server.getsockname()[1]


def in_cluster(runs, process, port, *args, patience=200):
    cluster = ["--cluster.coordinator", f"localhost:{port}", "--cluster.processes", "2", "--mesh.data", "2"]
    cluster += ["--cluster.process", str(process), "--cluster.patience", str(patience)]
    return python("testbed.train", *at(runs), *RECIPE, *cluster, *args)


@pytest.fixture(scope="module")
def by_two(built, tmp_path_factory):
    """A run trained by two processes, and what each of them said."""
    runs = copied(built, tmp_path_factory.mktemp("by_two"))
    port = free_port()
    both = [in_cluster(runs, i, port) for i in range(2)]
    said = [process.communicate(timeout=300) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    return runs, said


def assert_close(runs, others):
    """Two runs have measured the same and ended with the same parameters, but for rounding."""
    got, expected = measurements(runs), measurements(others)
    assert [line[::2] for line in got] == [line[::2] for line in expected]
    np.testing.assert_allclose([x[1] for x in got], [x[1] for x in expected], rtol=1e-5)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4),
        parameters(runs),
        parameters(others),
    )


@pytest.mark.slow
def test_two_processes_train_as_one_does(by_two, trained):
    runs, said = by_two
    assert_close(runs, trained)
    assert re.search(r"generative accuracy of \d+ true facts +0\.\d{3}", said[0][0])
    out, waits = said[1]
    assert not out, "the first process speaks"
    assert all(line.endswith(" ...") for line in waits.splitlines())
    assert not list(runs.rglob("*.partial"))
    assert {p.name for p in (runs / "x" / "lm" / "checkpoints").iterdir()} == {"00000020", "00000030"}


@pytest.mark.slow
def test_one_process_goes_on_where_two_stopped(by_two, trained, tmp_path):
    runs = copied(by_two[0], tmp_path)
    shutil.rmtree(runs / "x" / "lm" / "checkpoints" / "00000030")
    assert train.main([*at(runs), *RECIPE]) == 0
    assert_close(runs, trained)


@pytest.mark.slow
def test_a_model_of_two_processes_is_edited(by_two, tmp_path):
    runs = copied(by_two[0], tmp_path)
    assert edit.main([*at(runs), "--cases.count", "2"]) == 0


def rows_of(runs):
    """The tables of the edits of a run as columns of numbers and texts, without times."""
    columns = {}
    for path in sorted(runs.glob("x/edits/hase/*/*.parquet")):
        for name, column in pq.read_table(path).to_pydict().items():
            if name != "seconds":
                columns[f"{path.name} {name}"] = column
    return columns


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        ["lora-down", "grace", "--cases.count", "11"],
        ["lora-down", "--cases.count", "20", "--sequential", "5", "--batch", "1"],
    ],
    ids=["apart", "in sequence"],
)
def test_edits_on_eight_devices_are_those_on_one(options, trained, tmp_path):
    one, many = (copied(trained, tmp_path / name) for name in ("one", "many"))
    assert edit.main([*at(one), *options]) == 0
    process = python("testbed.edit", *at(many), *options, "--mesh.data", "8", env=EIGHT)
    said = process.communicate(timeout=500)
    assert process.returncode == 0, said
    columns, expected = rows_of(many), rows_of(one)
    assert columns.keys() == expected.keys()
    for name, column in expected.items():
        assert len(columns[name]) == len(column)
        for got, wanted in zip(columns[name], column, strict=True):
            if np.asarray(wanted).dtype == float:
                np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-5, err_msg=name)
            else:
                assert got == wanted, name


def test_edits_are_laid_over_data_alone(capsys):
    with pytest.raises(SystemExit) as stop:
        edit.main(["--mesh.model", "2"])
    assert stop.value.code == 2
    assert "edits use --mesh.data alone" in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_processes_with_different_settings_end(built, tmp_path):
    runs, port = copied(built, tmp_path), free_port()
    both = [in_cluster(runs, i, port, "--train.clip", str(i + 1)) for i in range(2)]
    said = [process.communicate(timeout=300)[1] for process in both]
    assert "have different settings, corpora or checkpoints" in said[0]
    assert both[0].returncode == 2
    assert both[1].returncode != 0
    assert not (runs / "x" / "lm").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("victim", "blow"), [(0, signal.SIGKILL), (1, signal.SIGTERM)])
def test_when_one_process_is_killed_the_other_ends(victim, blow, built, tmp_path):
    runs, port = copied(built, tmp_path), free_port()
    both = [in_cluster(runs, i, port) for i in range(2)]
    metrics = runs / "x" / "lm" / "metrics.jsonl"
    end = time.monotonic() + 240
    while not (metrics.exists() and metrics.stat().st_size):
        assert time.monotonic() < end
        time.sleep(0.01)
    both[victim].send_signal(blow)
    both[victim].communicate(timeout=60)
    assert both[victim].returncode == -blow
    # Far less than the 200 seconds of patience: the next exchange fails.
    said = both[1 - victim].communicate(timeout=60)[1]
    assert both[1 - victim].returncode != 0
    if victim == 1:
        assert both[0].returncode == 2
        assert re.fullmatch(
            rf"{WAITING}error: .*(another process of the cluster is gone|could not be written).*\n", said
        )


@pytest.mark.parametrize(
    "why",
    [
        "Connection refused",
        *(pytest.param(why, marks=pytest.mark.slow) for why in ("timed out", "Address already in use")),
    ],
)
def test_processes_that_meet_nobody(why, built):
    with socket.create_server(("", 0), family=socket.AF_INET) as taken:
        port = taken.getsockname()[1] if why.startswith("Address") else free_port()
        lonely = in_cluster(built, int("refused" in why), port, patience=1)
        said = lonely.communicate(timeout=300)[1]
    assert lonely.returncode == 2
    assert re.fullmatch(f"{WAITING}error: process .*\n", said)
    assert "(--cluster.patience) and did not meet the others at localhost:" in said
    assert why in said


@pytest.mark.parametrize("address", ["", "localhost", "localhost:", "localhost:0", "localhost:99999", ":80"])
def test_addresses_that_are_none(address, capsys):
    with pytest.raises(SystemExit) as stop:
        train.main(["--cluster.processes", "2", "--cluster.coordinator", address])
    assert stop.value.code == 2
    assert "host:port" in capsys.readouterr().err
