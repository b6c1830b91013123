"""The Python door: a run as an object. What commands do with one run they do through it, too.

    import testbed

    run = testbed.open("runs/demo")
    run.ask("Ada Marlow occupation")
    edited = run.edit("rome", "Ada Marlow educated at = Quintal College")
    edited.ask("Ada Marlow occupation")
    run.cases("hase"), run.scores(), run.results("lora-down").to_pandas(), run.examine(my_editor)

World, model and agent are loaded when they are first needed.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from inspect import isfunction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import pyarrow as pa

from corpus.errors import InputError
from testbed.advice import preset_of_run
from testbed.cells import Shown
from testbed.commands.editors import editor_grid
from testbed.edited_run import EditedRun
from testbed.engine.catalogue import edits_torch_models, entry_named, whose_options
from testbed.engine.methods import Method, the_request
from testbed.engine.records import is_complete
from testbed.engine.request_parser import parse_request
from testbed.engine.torch_editor import build_method
from testbed.engine.trace import CONFIG, finished_edits, read_config, why_left_out, why_misplaced
from testbed.engine.tuning import method_named
from testbed.evaluations.catalogue import (
    evaluation_named,
    prefix_of,
    recorded_evaluation_named,
    version_of_cases,
)
from testbed.examination import (
    CaseList,
    Examination,
    draw_cases,
    examine_editor,
    name_columns,
    put_in_words,
    read_named_table,
)
from testbed.grid import Drawing, Grid, headline_grid
from testbed.presets import EDIT
from testbed.run.runs import Run, describe_run, recorded_settings
from testbed.run.settings import AgentName, Learned, RequestName
from testbed.run_parts import RunParts
from testbed.scores.comparison import compare_editors, describe_incomparable, reference_named
from testbed.scores.frame import EDITOR
from testbed.scores.gather import flatten_settings, gather_results, name_editors
from testbed.scores.headlines import headline_subset
from testbed.scores.metric import labels_of
from testbed.scores.statistics import Comparison, Estimate
from testbed.scores.summary import ScoredEditor, frame_of, score_editors
from testbed.scores.tables import format_cell
from testbed.settings import EditSettings, ReportSettings


class OpenRun(RunParts):
    """One run: its world, its agent, its model, what was edited, and what can be asked."""

    def edit(
        self,
        editor: Any,
        fact: str,
        credence: float = 0.95,
        request: RequestName = "evidence",
        seed: int = 0,
        settings: EditSettings | None = None,
        learn: Learned = "doubt",
        **hyper_parameters: Any,
    ) -> EditedRun:
        """Model and agent after one edit, as a view; this run stays as it is.

        Args:
            editor: name of a built-in one, "my_module:MyEditor", or an editor itself, in JAX or PyTorch.
            fact: such as "Ada Marlow educated at = Quintal College"; for what else can be said of a fact, see
                `testbed.engine.request_parser`.
            credence: how sure one is of it.
            request: what it is to the agent; only the exact agent knows corrections and `do`.
            settings: whose hyper-parameters editors have; by default those of the run's preset.
            learn: what the editor learns of a sentence: what is in doubt, its object or label; or all of it.
            hyper_parameters: those of this editor that are to be others.

        Raises:
            InputError: an unknown name, or an editor that cannot do what is asked.
        """
        said = parse_request(self.world, fact)
        name, method = self.method_of(editor, settings or self.settings, hyper_parameters)
        return EditedRun(self, name, method, fact, said, credence, request, seed, learn)

    def method_of(
        self, editor: Any, settings: EditSettings, changes: dict[str, Any] | None = None
    ) -> tuple[str, Method]:
        """An editor's name, and the editor with what it is told.

        Args:
            editor: a name, or an editor itself.
            changes: hyper-parameters that are not those of `settings`.

        Raises:
            InputError: no such editor or hyper-parameter.
        """
        if not isinstance(editor, str):
            own = editor() if isinstance(editor, type) else editor
            kind = own if isfunction(own) else type(own)
            own = _with_changes(kind.__name__, own, changes)
            if edits_torch_models(kind):
                return kind.__name__, build_method(own, settings, self.world)
            return kind.__name__, Method(own, the_request)
        entry = entry_named(editor)
        if changes:
            options = whose_options(editor).options
            config = _with_changes(editor, settings.configs.get(options, entry.config), changes)
            settings = replace(settings, configs=settings.configs | {options: config})
        return editor, method_named(editor, settings, self.world)

    def cases(
        self,
        evaluation: str = "",
        count: int | None = None,
        credence: float | None = None,
        seed: int = 0,
        **options: Any,
    ) -> CaseList:
        """The cases of an evaluation, those that `testbed.edit` asks.

        Args:
            evaluation: a built-in one or my_module:MyEvaluation; without it, that of the preset.
            count, credence: as in the preset, if nothing is said.
            options: of the evaluation, where they are others than in the preset.

        Raises:
            InputError: no such evaluation or option, or a world with nothing to ask.
        """
        settings = self._settings_of_cases(evaluation, count, credence, seed, options)
        cases = draw_cases(self.world, self.agent, settings)
        return CaseList(self.world, settings.evaluation, settings.chosen_evaluation, cases)

    def examine(
        self,
        editor: Any,
        evaluation: str = "",
        count: int | None = None,
        credence: float | None = None,
        seed: int = 0,
        hyper_parameters: dict[str, Any] | None = None,
        **options: Any,
    ) -> Examination:
        """Edit every case by an editor, and measure it; nothing is written into the run.

        Args:
            editor: as for `edit`.
            evaluation, count, credence, options: as for `cases`.
            hyper_parameters: those of the editor that are to be others than in the preset.

        Raises:
            InputError: what is asked for is not there, or an editor that leaves no numbers.
        """
        settings = self._settings_of_cases(evaluation, count, credence, seed, options)
        with TemporaryDirectory() as folder:
            name, method = self.method_of(editor, settings, hyper_parameters)
            return examine_editor(self, name, method, settings, Path(folder))

    def _settings_of_cases(
        self, evaluation: str, count: int | None, credence: float | None, seed: int, options: dict[str, Any]
    ) -> EditSettings:
        base = self.settings
        name = evaluation or base.evaluation
        kind = evaluation_named(name)
        chosen = _with_changes(name, base.evaluations.get(prefix_of(name)) or kind(), options)
        cases = replace(
            base.cases,
            count=base.cases.count if count is None else count,
            credence=base.cases.credence if credence is None else credence,
        )
        evaluations = base.evaluations | {prefix_of(name): chosen}
        return replace(base, evaluation=name, evaluations=evaluations, cases=cases, seed=seed)

    def results(
        self, editor: str = "", table: str = "choices", evaluation: str = "", told: bool = False
    ) -> Any:
        """What an editor's edits came to, from disk, with names in place of numbers, as an Arrow table.

        Without an editor all that is reported of every editor, a row an estimate (`testbed.scores.frame`): a
        pandas DataFrame where pandas is installed, else an Arrow table.

        Args:
            editor: its name, or that of a folder of `edits`, where there are several by one editor.
            table: choices, claims, passages or cases. What questions are about stands beside their role.
            told: also the questions whose answers a control was told.

        Raises:
            InputError: no such edits by today's code of the run's model, or several.
        """
        name = evaluation or self.settings.evaluation
        if not editor:
            return _as_frame(frame_of(self._scored_editors(name)).table)
        rows = read_named_table(self.world, self._folder_of(editor, name), table)
        return put_in_words(rows, evaluation_named(name)(), told)

    def _folder_of(self, editor: str, evaluation: str) -> Path:
        """The folder of an editor's edits that the same command would make today as well."""
        finished = {path: read_config(path) for path in finished_edits(self.run, evaluation)}
        if not finished:
            raise InputError(
                f"{self.run.folder} has no edits for the evaluation {evaluation}; run python -m testbed.edit "
                f"{editor} {self.run.options} --evaluation {evaluation} first"
            )
        candidates = [
            path
            for path, config in finished.items()
            if editor in (path.name, config["editor"]) and not why_misplaced(path, config)
        ]
        version = version_of_cases(evaluation)
        current = [path for path in candidates if not why_left_out(self.run, finished[path], version)]
        if len(current) == 1:
            return current[0]
        if current:
            configs = [finished[path] for path in current]
            names = name_editors(configs, [path.name.rpartition("-")[2] for path in current])
            each = "; ".join(f"{path.name} ({name})" for path, name in zip(current, names, strict=True))
            raise InputError(f"{editor} has several; name one: {each}")
        if candidates:
            raise InputError(f"{candidates[0]} {why_left_out(self.run, finished[candidates[0]], version)}")
        there = ", ".join(sorted({config["editor"] for config in finished.values()}))
        raise InputError(f"{self.run.folder} has no edits by {editor}; there are those by {there}")

    def scores(self, evaluation: str = "") -> Grid:
        """The headlines of every editor whose edits are on disk, as `testbed.report` prints them.

        `to_pandas` has every metric of every editor and subset of the cases: for each the value, and the ends
        of its interval as "METRIC low" and "METRIC high".

        Raises:
            InputError: the run has no edits.
        """
        name = evaluation or self.settings.evaluation
        editors = self._scored_editors(name)
        grid = headline_grid(f"{name}, {self.run.name}", editors)
        rows: dict[tuple[str, str], dict[str, Any]] = {}
        for of, cell in frame_of(editors).where(kind=EDITOR).rows():
            keys = {name: of[name] for name in ("editor", "subset")}
            row, metric = rows.setdefault((of["editor"], of["subset"]), keys), of["metric"]
            if isinstance(cell, Estimate):
                row |= {metric: cell.value, f"{metric} low": cell.low, f"{metric} high": cell.high}
            else:
                row[metric] = cell
        names = dict.fromkeys(name for row in rows.values() for name in row)
        return replace(
            grid, table=pa.table({name: [row.get(name) for row in rows.values()] for name in names})
        )

    @property
    def edits(self) -> Grid:
        """What was edited: a row for each editor and its settings, with why a report leaves it out."""
        rows = []
        for path in sorted(self.run.edits.glob(f"*/*/{CONFIG}")):
            config = read_config(path.parent)
            settings, evaluation = config["settings"], config["settings"]["evaluation"]["name"]
            own = flatten_settings(config["method"]["settings"])
            says = ", ".join(f"{key.rpartition('.')[2]} {value}" for key, value in own.items())
            why = why_left_out(self.run, config, version_of_cases(evaluation))
            why = why if is_complete(path.parent) else "is unfinished"
            rows.append(
                [evaluation, config["editor"], settings["cases"]["count"], says, path.parent.name, why]
            )
        header = ("evaluation", "editor", "edits", "settings", "folder", "left out as it")
        return Grid(f"edits of {self.run.folder}", header, rows, numbers=False)

    @property
    def facts(self) -> Any:
        """Every fact of the world: subject, relation, object; as `results`."""
        graph, truth = self.world.graph, self.world.generative.truth
        facts = pa.table({"subject": graph.subject, "relation": graph.relation, "object": truth})
        return _as_frame(name_columns(self.world, facts))

    def frame(self, evaluation: str = "") -> Any:
        """Every metric of every case of every editor: a row each; as `results`."""
        name = evaluation or self.settings.evaluation
        tables = []
        for editor in self._scored_editors(name):
            cases, count = editor.edits.results.cases, len(editor.edits.results)
            labels = labels_of(editor.evaluation.metrics)
            of_case = {"case": range(count)} | {key: cases[key] for key in ("subject", "relation", "object")}
            for metric, values in editor.values[editor.name].items():
                keys = {"editor": [editor.name], "metric": [metric], "label": [labels[metric]]}
                columns = {key: of * count for key, of in keys.items()} | of_case
                tables.append(pa.table(columns | {"value": values.by_case}))
        return _as_frame(name_columns(self.world, pa.concat_tables(tables)))

    def compare(self, first: str, second: str, evaluation: str = "", subset: str = "") -> Grid:
        """An editor less another, over the cases that both have: differences with intervals and p-values.

        Args:
            first, second: as `scores` calls them; the second may be a reference, such as "no edit".
            subset: of the cases; by default those that headlines are over.

        Raises:
            InputError: no such editor or subset.
        """
        editor, subset, reference, cells = self._compare(first, second, evaluation, subset)
        labels = labels_of(editor.evaluation.metrics)
        rows = [[labels[metric], Shown(format_cell(cell), cell)] for metric, cell in cells.items()]
        title = f"{editor.name} less {reference}, over the subset of cases: {subset}"
        return Grid(title, ("metric", "difference"), rows)

    def _compare(
        self, first: str, second: str, evaluation: str, subset: str
    ) -> tuple[ScoredEditor, str, str, dict[str, Comparison]]:
        """The first editor, the subset, what the second is called, and the differences by metric."""
        editors = self._scored_editors(evaluation or self.settings.evaluation)
        mine = next((e for e in editors if first in (e.name, e.edits.editor)), None)
        if mine is None:
            there = ", ".join(e.name for e in editors)
            raise InputError(f"there are no edits by {first}; there are those by {there}")
        subset = subset or headline_subset(mine.evaluation, mine.frame)
        subsets = mine.frame.values("subset")
        if subset not in subsets:
            raise InputError(f"there is no subset {subset!r}; subsets are {', '.join(subsets)}")
        pair = [mine, *(e for e in editors if second in (e.name, e.edits.editor) and e is not mine)]
        reference = reference_named(pair, second)
        for why in describe_incomparable(pair[:1] + [e for e in pair if e.name == reference], reference):
            raise InputError(why)
        differences = compare_editors(pair, reference, subset)
        return mine, subset, differences.reference, differences.comparisons.get(mine.name, {})

    def plan(
        self,
        first: str,
        second: str,
        difference: float = 0.05,
        metric: str = "follows",
        evaluation: str = "",
        subset: str = "",
    ) -> int:
        """How many edits of a subset would show a difference of a metric between two editors.

        From the smallest difference that the edits there are would show
        (`testbed.scores.statistics.detectable_difference`), which falls with the root of their number. Those
        are counted that have the metric, such as edits that should change a dependent fact.

        Raises:
            InputError: no such editor, subset or metric, or too few edits to go by.
        """
        editor, subset, reference, cells = self._compare(first, second, evaluation, subset)
        cell = cells.get(metric)
        if cell is None or math.isnan(cell.detectable):
            raise InputError(
                f"nothing says how {metric} of {editor.name} and {reference} differs over {subset}: there "
                f"are too few edits, or no such metric; metrics are {', '.join(cells)}"
            )
        return math.ceil(cell.cases * (cell.detectable / difference) ** 2)

    def plot(self, picture: str = "harm", evaluation: str = "") -> Drawing:
        """A picture of the report, such as harm, support or frontier-flops.

        Raises:
            InputError: the report has no such picture.
        """
        from testbed.commands.report import draw_chapter

        name = evaluation or self.settings.evaluation
        with TemporaryDirectory() as folder:
            draw_chapter(name, [self.run], self.world, ReportSettings(), Path(folder))
            files = {path.stem: path for path in Path(folder).glob("*/*.svg")}
            if picture not in files:
                raise InputError(f"the report has no picture {picture!r}; it has {', '.join(sorted(files))}")
            return Drawing(
                f"{picture} of {name}, {self.run.name}", files[picture].read_text(encoding="utf-8")
            )

    def _scored_editors(self, evaluation: str) -> list[ScoredEditor]:
        return score_editors(gather_results([self.run], recorded_evaluation_named(evaluation)))

    def __repr__(self) -> str:
        return repr(self._overview())

    def _repr_html_(self) -> str:
        return self._overview()._repr_html_()

    def _overview(self) -> Grid:
        return _describe_runs(f"run {self.run.folder}", [self.run])


def open_run(
    folder: str | Path, agent: AgentName | None = None, checkpoint: Literal["last", "best"] = "last"
) -> OpenRun:
    """The run in a folder.

    Args:
        agent: who answers beside the model: paper or exact; by default that of the run's preset.

    Raises:
        InputError: there is no run.
    """
    folder = Path(folder)
    run = Run(folder.parent, folder.name)
    recorded_settings(run, "corpus")
    return OpenRun(run, agent or EDIT[preset_of_run(run)].agent, checkpoint)


def list_runs(root: Path) -> Grid:
    """The runs of a folder, and how far each is."""
    runs = [Run(root, path.parent.name) for path in sorted(root.glob("*/config.json"))]
    return _describe_runs(f"runs in {root}", runs)


def list_editors(folder: Path) -> Grid:
    """Every editor, with what an edit by it has cost in a run."""
    return editor_grid(Run(folder.parent, folder.name))


def _describe_runs(title: str, runs: Sequence[Run]) -> Grid:
    header = ("run", "corpus", "model", "edits", "report")
    return Grid(title, header, [describe_run(run) for run in runs], numbers=False)


def _as_frame(table: pa.Table) -> Any:
    """A DataFrame of pandas where it is installed, else the Arrow table."""
    return table.to_pandas() if find_spec("pandas") else table


def _with_changes(name: str, settings: Any, changes: dict[str, Any] | None) -> Any:
    """Settings with some of them changed."""
    if not changes:
        return settings
    try:
        return replace(settings, **changes)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} cannot be set to {changes} ({error})") from None
