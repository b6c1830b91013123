"""A dated folder of results: the command, settings, versions, device and figures of one run."""

from collections.abc import Iterable, Mapping
from datetime import date
from functools import reduce
from pathlib import Path
from typing import Any

from corpus.files import read_json, read_record, write_json
from experiments.figures import FIGURES, Figure, figures_of_table, flatten_figures, write_figures
from testbed.run.runs import Run, provenance, read_metrics
from testbed.run.runtime import describe_device
from testbed.scores.tables import Table

RECORDS = Path(__file__).parent / "records"


SETTINGS = "record.json"


def write_record(
    run: Run,
    title: str,
    command: str,
    tables: Iterable[Table] = (),
    rows: Iterable[Figure] = (),
    names: tuple[str, ...] = (),
    settings: dict[str, Any] | None = None,
    tuned: Mapping[str, dict] | None = None,
    **trees: Any,
) -> Path:
    """Write records/<today>-<title>/: record.json, and all figures as one table; returns that folder.

    Args:
        run: whose settings the record has, if it has a corpus.
        command: what to type to repeat it. Commands of earlier records of the run stand before it.
        tables: what the study shows.
        rows: its figures.
        names: what the levels of the trees are.
        settings: of the study.
        tuned: settings by file, with the `search` that found them; see `read_searches`.
        trees: further figures by name, as `flatten_figures` takes them.
    """
    name, again = f"{date.today():%Y-%m-%d}-{title}", 1
    while (folder := RECORDS / (name if again == 1 else f"{name}-{again}")).exists():
        again += 1
    folder.mkdir(parents=True)
    lines = read_metrics(run) if run.metrics.exists() else []
    training = {str(line["step"]): {k: v for k, v in line.items() if k != "step"} for line in lines}
    all_rows = [*flatten_figures("training", training, ("step",)), *rows]
    for name, tree in trees.items():
        all_rows += flatten_figures(name, tree, names)
    if tuned:
        all_rows += flatten_figures("tuned", {file: {"search": one["search"]} for file, one in tuned.items()})
    page = f"{title.replace('-', '_')}.md"
    write_figures(
        [*all_rows, *(row for table in tables for row in figures_of_table(page, table))], folder / FIGURES
    )
    edits = [read_json(path) for path in sorted(run.edits.glob("*/*/config.json"))]
    counts = run.corpus / "counts.json"
    content = {
        "commands": _add_command(run, command),
        "date": f"{date.today():%Y-%m-%d}",
        "device": describe_device(),
        "made_with": provenance(),
        "settings": settings,
        "counts": read_json(counts) if counts.exists() else None,
        "stages": _without_places(read_record(run.config_file)) if run.config_file.exists() else None,
        "edits": group_edits(edits) if edits else None,
        "tuned": tuned and share_settings({file: _without_search(one) for file, one in tuned.items()}),
    }
    write_json(folder / SETTINGS, {key: value for key, value in content.items() if value})
    return folder


def read_searches(run: Run) -> dict[str, dict]:
    """What testbed.tune tried and chose on a run, by file."""
    return {path.stem: read_record(path) for path in sorted(run.folder.glob("tuned/*/*.json"))}


def _add_command(run: Run, command: str) -> list[str]:
    """Commands that made what is in a run, the last one at the end; the run remembers them."""
    path = run.folder / "commands.json"
    earlier = read_json(path)["commands"] if path.exists() else []
    commands = [*(one for one in earlier if one != command), command]
    write_json(path, {"commands": commands})
    return commands


def _without_search(tuned: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in tuned.items() if name != "search"}


def _without_places(stages: dict) -> dict:
    """Settings with the name of a folder of facts in place of where it lies on one machine."""
    world = stages["corpus"]["settings"]["world"]
    world["path"] = Path(world["path"]).name
    return stages


def share_settings(each: Mapping[str, dict]) -> dict[str, Any]:
    """Settings by name: what is `shared` by all of them, and what is `each` one's own."""
    shared = reduce(_shared_part, each.values())
    return {"shared": shared, "each": {name: _own_part(one, shared) for name, one in each.items()}}


def group_edits(configs: Iterable[dict]) -> dict[str, Any]:
    """Settings of edits by editor, and of one editor's from 0; what is shared stands once."""
    by_editor: dict[str, dict[str, dict]] = {}
    for config in configs:
        of_editor = by_editor.setdefault(config["editor"], {})
        of_editor[str(len(of_editor))] = config
    return share_settings({name: share_settings(each) for name, each in by_editor.items()})


def _shared_part(one: Mapping, other: Mapping) -> dict:
    shared = {}
    for name in (name for name in one if name in other):
        a, b = one[name], other[name]
        part = _shared_part(a, b) if isinstance(a, dict) and isinstance(b, dict) else None
        if a == b or part:
            shared[name] = a if a == b else part
    return shared


def _own_part(one: Mapping, shared: Mapping) -> dict:
    return {
        name: _own_part(value, shared[name]) if name in shared else value
        for name, value in one.items()
        if shared.get(name, ...) != value
    }
