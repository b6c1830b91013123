"""Copy an example of your own editor or evaluation."""

import ast
import shutil
from pathlib import Path

from corpus.errors import InputError
from corpus.files import staged_file
from testbed.console import print_table, say
from testbed.settings import ExampleSettings

HERE = Path(__file__).parents[1]
FOLDERS = (HERE / "examples", HERE.parent / "experiments" / "examples")
"""Where they are: in an installed package, and in the repository."""


def copy_example(options: ExampleSettings) -> None:
    """Write an example into a folder, to be changed there; without a name, list them.

    Raises:
        InputError: no such example, or a file of that name is there already.
    """
    paths = find_examples()
    if not options.name:
        rows = [(name, _first_line(path)) for name, path in paths.items()]
        print_table("examples", ("name", "what it is"), rows, numbers=False)
        return
    if options.name not in paths:
        raise InputError(f"there is no example {options.name!r}; examples are {', '.join(paths)}")
    path = options.folder / paths[options.name].name
    if path.exists():
        raise InputError(f"{path} is there already; choose another --folder, or move it away")
    with staged_file(path) as aside:
        shutil.copyfile(paths[options.name], aside)
    say(f"{path}: its first lines say how it is used")


def find_examples() -> dict[str, Path]:
    """Every example by name."""
    paths = sorted(path for folder in FOLDERS for path in folder.glob("[!_]*.py"))
    return {path.stem: path for path in paths}


def _first_line(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0]
