"""Run a notebook beside the runs that it opens: `python -m tests.walks.notebook PATH`, where `runs` is.

By nbclient where it is installed; elsewhere its cells are one program, which shows what each ends in.
"""

import ast
import json
import os
import runpy
import sys
from importlib.util import find_spec
from pathlib import Path

from tests.walks import sizes


def read_notebook(path: Path) -> dict:
    """The notebook, with fewer edits."""
    text = path.read_text(encoding="utf-8")
    for words, fewer in sizes.FEWER.items():
        text = text.replace(words, fewer)
    return json.loads(text)


def run_as_program(path: Path) -> list[str]:
    """What the cells show, by one program beside the notebook's folder."""
    lines, shown = [], []
    for cell in read_notebook(path)["cells"]:
        if cell["cell_type"] == "code":
            *body, last = ast.parse("".join(cell["source"])).body
            lines += [ast.unparse(part) for part in body]
            is_shown = isinstance(last, ast.Expr)
            lines.append(f"show({ast.unparse(last)})" if is_shown else ast.unparse(last))
    program = Path(path.stem).with_suffix(".py")
    program.write_text("\n".join(lines) + "\n", encoding="utf-8")
    runpy.run_path(str(program), {"show": lambda value: shown.append(value._repr_html_())}, "__main__")
    return shown


def run_in_kernel(path: Path) -> list[str]:
    """What the cells show, in a kernel of Jupyter's."""
    import nbclient
    import nbformat

    notebook = nbformat.reads(json.dumps(read_notebook(path)), as_version=4)
    resources = {"metadata": {"path": str(Path.cwd())}}
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    for out in outputs:
        assert out["output_type"] in ("execute_result", "stream"), "nothing shows itself twice"
        assert out["output_type"] == "stream" or out["data"]["text/plain"].strip()
    return [str(out.get("data", "")) for out in outputs]


def main() -> None:
    """Run it in a folder beside the runs, as docs/ is."""
    path = Path(sys.argv[1]).resolve()
    Path("docs").mkdir(exist_ok=True)
    os.chdir("docs")
    has_kernel = find_spec("nbclient") and find_spec("ipykernel")
    shown = run_in_kernel(path) if has_kernel else run_as_program(path)
    assert sum("<table" in text for text in shown) >= 5, f"{len(shown)} outputs, with too few tables"
    assert sum("image/svg+xml" in text for text in shown) >= 3, "too few pictures"


if __name__ == "__main__":
    main()
