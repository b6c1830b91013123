"""What is slow to make is made once in a run of the tests, by whichever process needs it first."""

import fcntl
import os
import shutil
from contextlib import suppress


def shared(tmp_path_factory, name, make):
    """Path of what `make(path)` has written, one for all processes of pytest-xdist, to be copied or read."""
    base = tmp_path_factory.getbasetemp()
    # Its processes keep their temporary folders side by side.
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    path, aside = base / f"shared-{name}", base / f"shared-{name}.partial"
    with (base / f"shared-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            with suppress(FileNotFoundError):
                shutil.rmtree(aside)
            make(aside)
            aside.rename(path)
    return path
