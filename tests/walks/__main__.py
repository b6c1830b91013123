"""Type what the pages say, in order, at toy sizes: `make walks`, or `python -m tests.walks [PAGE...]`.

Every command of a page's code blocks runs as it is printed, in a folder of its own, but for what `sizes.py`
declares. A block of Python is a program, or the file that the line above it names. A walk ends at the first
command that fails, and names page, line, command and the end of what was printed.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from tests.runs import QUICKLY, ROOT
from tests.walks import sizes

PROGRAMS = ("python", "python3", "make", "source", "pip", "cp")
"""A block whose first word is none of these shows output."""
LONGEST = 1200
TAIL = 25
"""Lines of output that are shown of a command that fails."""
_talk = threading.Lock()


class Step(NamedTuple):
    """Something to type, or to write into a file, and where it stands."""

    page: str
    line: int
    text: str
    file: str = ""
    is_python: bool = False

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def read_steps(page: str, text: str) -> Iterator[Step]:
    """The commands and programs of a page, in order."""
    if page.endswith(".ipynb"):
        yield Step(page, 1, f"python -m tests.walks.notebook {ROOT / page}")
        return
    for block in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        language, content = block.groups()
        line = text[: block.start()].count("\n") + 2
        above = text[: block.start()].rstrip().rpartition("\n")[2]
        if language == "python":
            named = re.findall(r"`(\w+\.py)`", above) if above.endswith(":") else []
            if "..." not in content:
                yield Step(page, line, content, named[0] if named else "", is_python=True)
        elif content.split(maxsplit=1)[0] in PROGRAMS:
            for command in re.finditer(r"(?:.*\\\n)*.+\n", content):
                if not command[0].lstrip().startswith("#"):
                    yield Step(page, line + content[: command.start()].count("\n"), command[0].strip())


def why_left_out(step: Step) -> str:
    """Why a step is not made; "" where it is."""
    for words, why in sizes.LEFT_OUT.items():
        if not step.is_python and words in step.text:
            return why
    # A comment may name what its command does without.
    typed = step.text if step.is_python else re.sub(r"\s#.*", "", step.text)
    for words, packages in sizes.NEEDS.items():
        missing = [name for name in packages if find_spec(name) is None]
        if missing and words in f"{step.file} {typed}":
            return f"needs {', '.join(missing)}"
    missing = [word for word in re.findall(r"\| (\w+)", step.text) if not shutil.which(word)]
    return f"needs {missing[0]}" if missing and not step.is_python else ""


def shrink(step: Step) -> str:
    """The text of a step at toy sizes."""
    text = step.text
    if step.is_python:
        for words, fewer in sizes.FEWER.items():
            text = text.replace(words, fewer)
        return text

    def append(command: re.Match) -> str:
        added = " ".join(more for words, more in sizes.SIZES if words in command[0])
        return f"{command[0].rstrip()} {added} "

    text = re.sub(r"python -m testbed(?:\\\n|[^&|#\n])*", append, text)
    for words, small in sizes.INSTEAD.items():
        text = text.replace(words, small)
    return text


def make_step(step: Step, folder: Path) -> str:
    """Make a step; returns what went wrong, "" if nothing did."""
    text = shrink(step)
    if step.file:
        (folder / step.file).write_text(text, encoding="utf-8")
        return ""
    words = [sys.executable, "-c", text] if step.is_python else ["bash", "-e", "-o", "pipefail", "-c", text]
    environment = os.environ | {
        "XLA_FLAGS": QUICKLY,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)]),
        "PJRT_NPROC": "1",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.05",
        "COLUMNS": "100",
    }  # fmt: skip
    try:
        done = subprocess.run(
            words, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=LONGEST
        )
    except subprocess.TimeoutExpired:
        return f"it has not ended after {LONGEST} seconds"
    said = (done.stdout + done.stderr).strip()
    bad = [words for words in sizes.FORBIDDEN if words in said]
    if not done.returncode and not bad:
        return ""
    why = f"exit code {done.returncode}" if done.returncode else f"it says {bad[0]!r}"
    return "\n".join([why, f"typed: {text}", *said.splitlines()[-TAIL:]])


def walk(pages: tuple[str, ...], start: Path, folder: Path) -> tuple[int, int]:
    """Walk pages in a copy of the folder `start`; how many steps were made, and how many failed."""
    shutil.copytree(start, folder)
    made = 0
    for page in pages:
        for step in read_steps(page, (ROOT / page).read_text(encoding="utf-8")):
            began, why = time.perf_counter(), why_left_out(step)
            first = step.file or step.text.partition("\n")[0]
            if why:
                tell(f"{step}  left out ({why})  {first}")
                continue
            wrong = make_step(step, folder)
            if wrong:
                tell(f"{step}  FAILED  {first}\n{wrong}\nthe rest of {', '.join(pages)} is not walked")
                return made, 1
            tell(f"{step}  {time.perf_counter() - began:.1f} s  {first}")
            made += 1
    return made, 0


def tell(text: str) -> None:
    """A line, or some that belong together."""
    with _talk:
        print(text, flush=True)


def make_start(folder: Path) -> None:
    """The folder of somebody who has made the demo, and has a table of facts and copies of the examples."""
    folder.mkdir()

    def type_all(commands: Sequence[str]) -> None:
        for command in commands:
            if wrong := make_step(Step("tests/walks/sizes.py", 0, f"python -m {command}"), folder):
                raise SystemExit(f"{command}\n{wrong}")

    with ThreadPoolExecutor(len(sizes.BEFORE)) as pool:
        [*pool.map(type_all, sizes.BEFORE)]
    (folder / "facts.tsv").write_text(sizes.write_facts(), encoding="utf-8")


def main(chosen: Sequence[str]) -> int:
    """Walk the chosen pages, by default all of them, a few readers at a time."""
    began = time.perf_counter()
    readers = [tuple(page for page in pages if page in chosen or not chosen) for pages in sizes.PAGES]
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(sizes.READERS) as pool:
        start = Path(place) / "start"
        make_start(start)
        tell(f"a small demo was made in {time.perf_counter() - began:.0f} s")
        walks = [
            pool.submit(walk, pages, start, Path(place) / str(number)) for number, pages in enumerate(readers)
        ]
        made, failed = map(sum, zip(*(one.result() for one in walks), strict=True))
    tell(f"walked in {time.perf_counter() - began:.0f} s, {cpu_seconds():.0f} s of processors")
    tell(f"{made} passed, {failed} failed")
    return int(failed > 0)


def cpu_seconds() -> float:
    """Of all commands so far."""
    times = os.times()
    return times.children_user + times.children_system


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
