"""Cases, edits and results of one run as tables with names: what `testbed.open_run` gives to Python."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus.errors import InputError
from corpus.files import verify_folder, write_record
from testbed.console import show_progress
from testbed.engine.methods import Method
from testbed.engine.records import TABLES, table_file
from testbed.engine.results import read_results
from testbed.engine.sweep import Sweep
from testbed.engine.unasked import ask_unasked_facts
from testbed.evaluations.interface import Evaluation
from testbed.grid import Grid, show_cells
from testbed.own import OURS
from testbed.pages.explorer.view import roles_of
from testbed.protocol import Case
from testbed.run.world import World
from testbed.run_parts import RunParts
from testbed.scores.frame import Frame
from testbed.scores.headlines import describe_subset, headline_labels, headline_rows
from testbed.scores.readers import columns_of
from testbed.scores.recalibration import Temperatures, fit_temperatures, recalibrate_results
from testbed.scores.summary import summarise_results
from testbed.settings import CaseSettings, EditSettings

if TYPE_CHECKING:
    from bayes.interface import Agent
    from lm.language_model import LanguageModel

SHOWN = 10
"""Cases that a list of them shows."""
LOOKED_AT = 3
"""Cases of a user's evaluation that are made twice."""
_OF_SUBJECTS = ("subject", "object", "truth", "options")
"""Columns that number entities; those that begin with an answer do, too."""


def draw_cases(world: World, agent: "Agent", settings: CaseSettings) -> list[Case]:
    """The cases that edits of these settings ask.

    Raises:
        InputError: the world or the agent has nothing to ask.
    """
    evaluation, config = settings.chosen_evaluation, settings.cases

    def make() -> Iterator[Case]:
        return evaluation.make_cases(world, agent, config.count, config.credence, settings.seed)

    cases = list(make())
    if type(evaluation).__module__.partition(".")[0] not in OURS:
        # A user's evaluation may make nothing, too much, or something else each time.
        name, count = settings.evaluation, settings.cases.count
        if not 0 < len(cases) <= count:
            raise InputError(f"the evaluation {name} makes {len(cases):,} cases where {count:,} are wanted")
        if repr(list(islice(make(), LOOKED_AT))) != repr(cases[:LOOKED_AT]):
            raise InputError(
                f"the evaluation {name} makes other cases each time; draw by kit.generator(seed, ...) alone"
            )
    return cases


def recalibrate(
    world: World, model: "LanguageModel", agent: "Agent", cases: Sequence[Case], seed: int, path: Path
) -> None:
    """Fit the unedited model's temperatures on facts that no case asks, and write them to a file."""
    write_temperatures(path, fit_temperatures(*ask_unasked_facts(world, model, agent, cases, seed)))


def write_temperatures(path: Path, temperatures: Temperatures | None) -> None:
    """Write them, or that there were too few facts."""
    write_record(path, temperatures._asdict() if temperatures else {})


class CaseList(Sequence[Case]):
    """The cases of an evaluation; it prints itself as requests, and `to_arrow` has them as a table."""

    def __init__(self, world: World, name: str, evaluation: Evaluation, cases: Sequence[Case]) -> None:
        self.world, self.name, self.evaluation, self._cases = world, name, evaluation, cases

    def __len__(self) -> int:
        return len(self._cases)

    def __getitem__(self, index: Any) -> Any:
        chosen = self._cases[index]
        return (
            CaseList(self.world, self.name, self.evaluation, chosen) if isinstance(index, slice) else chosen
        )

    def __iter__(self) -> Iterator[Case]:
        return iter(self._cases)

    def to_arrow(self) -> pa.Table:
        """A row a case: the request, the truth, and the columns that the evaluation declares.

        Where requests state several facts, `further` has all but the first as text.
        """
        names, relations = self.world.graph.entities, self.world.graph.relations
        rows: list[dict[str, Any]] = [
            {
                "case": i,
                "subject": names[case.request.subject],
                "relation": relations[case.request.relation],
                "object": names[case.request.object],
                "truth": names[case.truth] if case.truth >= 0 else None,
                "kind": case.request.kind,
                "credence": case.credence,
                **case.facets,
            }
            for i, case in enumerate(self._cases)
        ]
        if any(case.request.further for case in self._cases):
            for row, case in zip(rows, self._cases, strict=True):
                row["further"] = [
                    f"{names[s]} {relations[r]} = {names[o]}" for s, r, o, *_ in case.request.further
                ]
        return pa.Table.from_pylist(rows)

    def to_pandas(self) -> Any:
        """As `to_arrow`, for pandas; needs it."""
        return self.to_arrow().to_pandas()

    def _grid(self) -> Grid:
        names, relations = self.world.graph.entities, self.world.graph.relations
        rows = []
        for case in self._cases[:SHOWN]:
            s, r, o = case.requested_fact
            truth = names[case.truth] if case.truth >= 0 else ""
            questions = len(case.choices) + len(case.claims) + len(case.passages)
            rows.append([f"{names[s]} {relations[r]}", names[o], truth, questions])
        more = len(self) - SHOWN
        note = f"and {more:,} more" if more > 0 else ""
        title = f"{len(self):,} cases of {self.name}"
        return Grid(title, ("edit", "to", "the world says", "questions"), rows, numbers=False, note=note)

    def __repr__(self) -> str:
        return repr(self._grid())

    def _repr_html_(self) -> str:
        return self._grid()._repr_html_()


class Examination:
    """What an editor did with the cases of an evaluation: headlines with intervals, and all answers.

    Attributes:
        evaluation: what was asked.
        frame: every metric by part of the cases and reader.
        tables: cases, choices, claims and passages as Arrow, with names in place of numbers.
    """

    def __init__(
        self, title: str, editor: str, evaluation: Evaluation, frame: Frame, tables: dict[str, pa.Table]
    ) -> None:
        self.title, self.editor, self.evaluation = title, editor, evaluation
        self.frame, self.tables = frame, tables

    @property
    def headline(self) -> Grid:
        """The headlines of the editor, and those of doing nothing and of the agent itself."""
        rows = show_cells(headline_rows(self.evaluation, self.frame, self.frame.values("reader")))
        return Grid(self.title, ["reader", *headline_labels(self.evaluation).values()], rows)

    def results(self, table: str = "choices", told: bool = False) -> pa.Table:
        """What was answered: choices, claims, passages or cases; see `testbed.open_run.OpenRun.results`."""
        return put_in_words(self.tables[table], self.evaluation, told)

    def __repr__(self) -> str:
        return repr(self.headline)

    def _repr_html_(self) -> str:
        return self.headline._repr_html_()


def examine_editor(
    run: RunParts, name: str, method: Method, settings: EditSettings, folder: Path
) -> Examination:
    """Edit every case, each on the unedited model, and measure what came of it.

    Args:
        folder: where the answers are written meanwhile.

    Raises:
        InputError: an editor that does not fit, or one that leaves no numbers.
    """
    evaluation, columns = settings.chosen_evaluation, columns_of(settings.chosen_evaluation)
    cases = draw_cases(run.world, run.agent, settings)
    sweep = Sweep(run.run, run.world, run.model, cases, columns, settings)
    with show_progress(name, sweep.edit_count) as advance:
        sweep.edit_cases(method, folder, advance)
    temperatures = folder / "temperatures.json"
    recalibrate(run.world, run.model, run.agent, cases, settings.seed, temperatures)
    results = recalibrate_results(read_results(folder, columns), temperatures)
    frame = summarise_results(evaluation, results, name, {})
    tables = {table: read_named_table(run.world, folder, table) for table in TABLES}
    only = describe_subset(evaluation, frame)
    title = f"{name}: {len(cases):,} edits of {run.run.folder}, {settings.evaluation}"
    title += f"; headlines of those{only}" if only else ""
    return Examination(title, name, evaluation, frame, tables)


def read_named_table(world: World, folder: Path, table: str) -> pa.Table:
    """A table of results with names in place of numbers.

    Raises:
        InputError: no such table, or a damaged file.
    """
    if table not in TABLES:
        raise InputError(f"there is no table {table!r}; tables are {', '.join(TABLES)}")
    verify_folder(folder)
    return name_columns(world, pq.read_table(table_file(folder, table)))


def put_in_words(table: pa.Table, evaluation: Evaluation, told: bool = False) -> pa.Table:
    """The rows, and what their roles are about; without those that a control was told, if not wanted."""
    if "is_told" in table.column_names and not told:
        table = table.filter(pc.invert(table["is_told"]))
    if "role" not in table.column_names:
        return table
    words = roles_of(evaluation)
    about = [words.get(role, role) for role in table["role"].to_pylist()]
    return table.add_column(table.column_names.index("role") + 1, "about", pa.array(about, pa.string()))


def name_columns(world: World, table: pa.Table) -> pa.Table:
    """The table with names of entities and relations in place of their numbers, null where there is none."""
    entities, relations = pa.array(world.graph.entities), pa.array(world.graph.relations)
    for i, name in enumerate(table.column_names):
        is_entity = name in _OF_SUBJECTS or "_answer_" in name
        if is_entity or name == "relation":
            names = relations if name == "relation" else entities
            column = table.column(name).combine_chunks()
            if pa.types.is_list(column.type):
                named = pa.ListArray.from_arrays(column.offsets, _take_names(names, column.values))
            else:
                named = _take_names(names, column)
            table = table.set_column(i, name, named)
    return table


def _take_names(names: pa.Array, numbers: pa.Array) -> pa.Array:
    places = numbers.to_numpy(zero_copy_only=False)
    return names.take(pa.array(places, mask=np.asarray(places) < 0))
