"""Every editor: whose it is, what it costs and what it changes."""

from testbed.engine.catalogue import editor_entries
from testbed.engine.trace import CONFIG, read_config
from testbed.grid import Grid
from testbed.run.runs import Run
from testbed.run.settings import RunSettings
from testbed.scores.gather import read_cost

CONTROL = "control: "
NOTE = (
    "Native editors read the model here, controls are told or kept from something, guests are yours or made "
    "elsewhere. Steps are of gradient descent, FLOPs those of an edit in this run. Yours: my_module:MyEditor."
)


def list_editors(options: RunSettings) -> None:
    """Print all of them, with what edits of a run have cost."""
    grid = editor_grid(Run(options.runs, options.run))
    grid.print()
    print(grid.note)


def editor_grid(run: Run) -> Grid:
    """A row an editor: those that come with the testbed, then others that have edited this run."""
    folders = [path.parent for path in sorted(run.edits.glob(f"*/*/{CONFIG}"))]
    flops = {read_config(folder)["editor"]: read_cost(folder).get("flops") for folder in folders}
    known = editor_entries()
    rows: list[list[object]] = []
    for name in [*known, *(name for name in flops if name not in known)]:
        entry = known.get(name)
        about = entry.about if entry else "yours, or made elsewhere"
        kind = ("control" if about.startswith(CONTROL) else "native") if entry else "guest"
        steps = getattr(entry.small or entry.config, "steps", "") if entry else ""
        cost = f"{flops[name]:.1e}" if flops.get(name) else ""
        rows.append([name, kind, steps, cost, about.removeprefix(CONTROL)])
    header = ("editor", "kind", "steps", "FLOPs", "what it changes")
    return Grid(f"editors, {run.folder}", header, rows, numbers=False, note=NOTE)
