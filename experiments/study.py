"""A study as data: which models there are, who edits them, and which tables come of it. One runner for all.

The file of a study has a docstring with its question, its command and the time it takes, and a `STUDY`:

    STUDY = Study(
        options=WorldOptions(worlds=10, editors=("lora-down", "rome"), edits=240),
        run="demo-worlds-{seed}",
        views=[View("all", "All requests", (SUCCESS, FOLLOWS))],
    )

A *cell* is one model with its edits: what varies, and its value, such as {"layers": 2, "seed": 0}. What it
means to the commands are options as they are typed there: `--model.layers 2` is {"model.layers": 2}. Cells
whose runs have one name share its corpus and its model, also with cells of other studies.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property, partial
from itertools import chain, groupby
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, NamedTuple

import tyro

from experiments.by_case import CASES, write_cases
from experiments.command import name_of_module
from experiments.figures import Figure, figures_of_frame
from experiments.record import read_searches, write_record
from experiments.stages import Clock, Stage, finish_stages
from testbed.commands.corpus import build_corpus
from testbed.commands.edit import edit
from testbed.commands.train import train
from testbed.commands.tune import tune
from testbed.console import say
from testbed.engine.catalogue import whose_options
from testbed.engine.tuning import with_tuned_settings
from testbed.evaluations.catalogue import recorded_evaluation_named
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.runs import Run, read_metrics
from testbed.run.runtime import prepare_jax
from testbed.run.settings import Changes, CorpusSettings, TrainSettings, as_plain_data, change_settings
from testbed.scores.frame import Frame, concat_frames
from testbed.scores.gather import EditorResults, gather_results, pool_results
from testbed.scores.summary import ScoredEditor, frame_of, score_editors
from testbed.scores.tables import Table, markdown_section
from testbed.scores.views import View, make_table
from testbed.settings import CaseConfig, EditSettings, TuneSettings

Values = dict[str, Any]
"""What a cell is, and all that the study was asked; for edits also its `editor`, as tables call it."""
Edits = Annotated[int, tyro.conf.arg(aliases=["--cases"])]
"""How many; records before 2026-11-28 call the option --cases."""
PLACES = ("runs", "minutes", "path", "facts")
"""Options that say where or how long, and change no figure."""
RESUMES = """
Every stage is kept when it is done, so that a killed command goes on from there; with --minutes it leaves by
itself after the stage in which they are over, or, while a model is trained, at once. When all are done, the
record is written into experiments/records."""
"""What --help says of it besides."""


@dataclass(frozen=True)
class StudyOptions:
    """What every study is asked."""

    runs: Path = Path("runs")
    """Folder of all runs."""
    minutes: float | None = None
    """Leave after about this long; the same command goes on from there."""
    editors: tuple[str, ...] = ()
    """Who edits, by the names in tables."""
    edits: Edits = 1
    """Edits by each editor of each model."""

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if type(value) is int and one.name != "seed" and value < 1:
                raise ValueError(f"{one.name} must be positive")

    @property
    def cells(self) -> list[Values]:
        """The models of a study that does not say which: one."""
        return [{"seed": 0}]


@dataclass(frozen=True)
class WorldOptions(StudyOptions):
    """The same, of several worlds."""

    worlds: Annotated[int, tyro.conf.arg(aliases=["--seeds"])] = 1
    """Worlds of each kind, each with its own seed, corpus, model and edits."""

    @property
    def cells(self) -> list[Values]:
        """A model for each world, of seeds 0, 1, ..."""
        return [{"seed": seed} for seed in range(self.worlds)]


@dataclass(frozen=True)
class SlowOptions(WorldOptions):
    """The same, where some editors take seconds for each edit."""

    slow_edits: int = 10
    """Edits by those who are slow."""


class Tuning(NamedTuple):
    """Where the settings of some editors are chosen: in a world of its own, of which nothing is reported.

    Attributes:
        cell: whose world, model and evaluation.
        cases: how many, that no other edits are of.
        editors: by their names in tables; whatever else differs in a variant stays.
    """

    cell: Values
    cases: int
    editors: Sequence[str]


@dataclass(frozen=True)
class Study:
    """What is measured.

    Attributes:
        options: what a command line may change, and what it is by default.
        cells: all models with their edits, in their order; by default those of the options. `is_made` says of
            one that its corpus and its model are there already.
        run: the name of a cell's run, with values in braces.
        preset: of corpus, training and edits; or three presets.
        corpus, train, edit: how the settings of each command differ from the preset's.
        variants: editors by their names in tables, where these are none of the testbed: whose method, and how
            its edits differ from others.
        slow: editors that make `slow_edits`, an option of the study.
        quick: editors take seconds, so that those with the same settings edit in one stage: what they share
            is compiled once.
        tuning: where settings are chosen, if they are.
        pool: what differs between cells whose edits are pooled.
        views: tables of what was found, by what tells cells apart that are not pooled.
        world_views: the same of each cell by itself, also by what is pooled otherwise.
        subsets: parts of the edits of which the record has figures, beside all.
        tables: what else is shown.
        figures: numbers of the study's own, by table, for its record.
        before: stages that come first.
        title: of the record; empty for the study's name.
    """

    options: StudyOptions
    cells: Callable[[Any], Sequence[Values]] = lambda options: options.cells
    run: str = "{seed}"
    preset: Any = "tiny"
    corpus: Callable[[Values], Changes] = lambda _: {}
    train: Callable[[Values], Changes] = lambda _: {}
    edit: Callable[[Values], Changes] = lambda _: {}
    editors: Callable[[Values], Sequence[str]] = lambda values: values["editors"]
    variants: Mapping[str, tuple[str, Changes]] = field(default_factory=dict)
    slow: Sequence[str] = ()
    quick: bool = False
    tuning: Callable[[Any], Tuning | None] = lambda _: None
    pool: Sequence[str] = ("seed",)
    views: Sequence[View] = ()
    world_views: Sequence[View] = ()
    subsets: Sequence[str] = ()
    tables: Callable[["Findings"], Iterable[Table]] = lambda _: ()
    figures: Callable[["Findings"], Mapping[str, Any]] = lambda _: {}
    before: Callable[["Findings"], Iterable[Stage]] = lambda _: ()
    title: Callable[[Any], str] = lambda _: ""


def config_matcher(run: Run, settings: EditSettings) -> Callable[[dict], bool]:
    """Whether a config.json is of such edits: the same settings, whatever the seed, of the same editors.

    Args:
        run: whose model is edited, for which hyper-parameters may have been chosen.
    """
    shared, configs = settings.settings_as_data(), settings.configs
    if settings.tuned:
        configs = with_tuned_settings(run, settings.editors, settings)

    def is_match(config: dict) -> bool:
        editor, seed = config["editor"], config["settings"]["seed"]
        if editor not in settings.editors or config["settings"] != shared | {"seed": seed}:
            return False
        own = configs.get(whose_options(editor).options)
        return own is None or as_plain_data(own) == config["method"]["settings"]["config"]

    return is_match


class Findings:
    """A study with what it was asked: its cells as settings of commands, and what was found in them.

    Attributes:
        cells: of each all values, those of the options among them.
        clock: how long the command may still work.
    """

    def __init__(self, name: str, study: Study, options: Any) -> None:
        self.name, self.study, self.options = name, study, options
        self.clock = Clock(options.minutes)
        self._asked = {one.name: getattr(options, one.name) for one in fields(options)}
        self._cells = list(study.cells(options))
        self._tuning = study.tuning(options)
        self._gathered: dict[str, list[EditorResults]] = {}
        self._scored: dict[str, list[ScoredEditor]] = {}

    @property
    def cells(self) -> list[Values]:
        """All of them, in their order."""
        return [self._asked | cell for cell in self._cells]

    @property
    def has_edits(self) -> bool:
        """Anybody edits."""
        return any(self.study.editors(cell) for cell in self.cells)

    @property
    def groups(self) -> list[Values]:
        """What tells cells apart that are not pooled, each once."""
        pooled = {*self.study.pool}
        groups = [{k: v for k, v in cell.items() if k not in pooled} for cell in self._cells]
        return [group for i, group in enumerate(groups) if group not in groups[:i]]

    def select(self, **where: Any) -> list[Values]:
        """The cells that have these values, or one of several in a list."""
        wanted = {name: value if isinstance(value, list) else [value] for name, value in where.items()}
        return [cell for cell in self.cells if all(cell[name] in values for name, values in wanted.items())]

    def run_of(self, cell: Values) -> Run:
        """Where a cell's corpus, model and edits are."""
        return Run(self.options.runs, self.study.run.format_map(cell).replace(" ", "-"))

    def runs(self, **where: Any) -> list[Run]:
        """The runs of some cells, each once."""
        return list(dict.fromkeys(self.run_of(cell) for cell in self.select(**where)))

    def _place_of(self, cell: Values) -> dict[str, Any]:
        run = self.run_of(cell)
        return {"run": run.name, "runs": run.root, "seed": cell["seed"]}

    def model_of(self, cell: Values) -> tuple[CorpusSettings, TrainSettings]:
        """How its corpus and its model are made."""
        written, trained, _ = presets_of(self.study, cell)
        place = self._place_of(cell)
        corpus = change_settings(CORPUS[written], place | self.study.corpus(cell))
        return corpus, change_settings(TRAIN[trained], place | self.study.train(cell))

    def edits_of(self, cell: Values, name: str) -> EditSettings:
        """The edits of a cell by an editor, given its name in tables."""
        editor, changes = self.study.variants.get(name, (name, {}))
        settings = chosen_for = self._settings_of(cell, name)
        if self._tuning and editor in self._tuning.editors:
            chosen_for = self._settings_of(self._tuned_cell, name)
            settings = replace(settings, tuned=self.run_of(self._tuned_cell).name)
        if settings.tuned and not whose_options(editor).search:
            settings = replace(settings, tuned="")
        if settings.tuned and (changes or chosen_for.evaluations != settings.evaluations):
            # A choice is for the evaluation that it was made on: what was chosen is set.
            as_chosen = replace(settings, evaluations=chosen_for.evaluations)
            configs = with_tuned_settings(self.run_of(cell), (editor,), as_chosen)
            settings = replace(settings, configs=configs, tuned="")
        return change_settings(settings, changes)

    @property
    def _tuned_cell(self) -> Values:
        assert self._tuning is not None
        return self._asked | self._tuning.cell

    def _settings_of(self, cell: Values, name: str) -> EditSettings:
        """As they are before anything is chosen or varied."""
        cell = {**cell, "editor": name}
        count = cell["slow_edits" if name in self.study.slow else "edits"]
        editor, _ = self.study.variants.get(name, (name, {}))
        shared = self._place_of(cell) | {"editors": (editor,), "cases.count": count}
        return change_settings(EDIT[presets_of(self.study, cell)[2]], shared | self.study.edit(cell))

    def stages(self) -> Iterator[Stage]:
        """Everything in its order; trainings stop when the time is over."""
        if tuning := self._tuning:
            yield from self.model_stages(self._tuned_cell)
            for name in tuning.editors:
                settings = replace(self._settings_of(self._tuned_cell, name), cases=CaseConfig(tuning.cases))
                yield f"tune {name}", partial(tune, TuneSettings(**vars(settings)))
        yield from self.study.before(self)
        made = {self.run_of(cell).name for cell in self.cells if cell.get("is_made")}
        for cell in self.cells:
            if self.run_of(cell).name not in made:
                made.add(self.run_of(cell).name)
                yield from self.model_stages(cell)
            about = "".join(f", {cell[key]}" for key in self._cells[0] if f"{{{key}" not in self.study.run)
            for names in self._editors_at_once(cell):
                title = f"edit {self.run_of(cell).name} by {', '.join(names)}{about}"
                yield title, partial(self._edit, cell, names)

    def model_stages(self, cell: Values) -> Iterator[Stage]:
        """A corpus, and a model trained to its last step or until the time is over."""
        corpus, training = self.model_of(cell)
        yield f"corpus of {corpus.run}", partial(build_corpus, corpus)
        yield f"model of {corpus.run}", lambda: train(replace(training, minutes=self.clock.minutes_left()))

    def _editors_at_once(self, cell: Values) -> Iterator[list[str]]:
        """Who edits a cell in one stage."""
        names = self.study.editors(cell)
        if not self.study.quick:
            yield from ([name] for name in names)
            return
        for _, alike in groupby(names, lambda name: replace(self.edits_of(cell, name), editors=("none",))):
            yield list(alike)

    def _edit(self, cell: Values, names: Sequence[str]) -> None:
        each = [self.edits_of(cell, name) for name in names]
        edit(replace(each[0], editors=tuple(editor for one in each for editor in one.editors)))

    def results(self, **where: Any) -> list[EditorResults]:
        """What each editor did in some cells together, by the names in tables."""
        key = repr(where)
        if key not in self._gathered:
            cells = self.select(**where)
            names = dict.fromkeys(name for cell in cells for name in self.study.editors(cell))
            self._gathered[key] = [
                self._gather([c for c in cells if name in self.study.editors(c)], name) for name in names
            ]
        return self._gathered[key]

    def _gather(self, cells: Sequence[Values], name: str) -> EditorResults:
        wanted = [(self.run_of(cell), self.edits_of(cell, name)) for cell in cells]
        evaluation = recorded_evaluation_named(wanted[0][1].evaluation)
        matchers = [config_matcher(run, settings) for run, settings in wanted]

        def gather(runs: Sequence[Run]) -> list[EditorResults]:
            return gather_results(runs, evaluation, lambda config: any(is_of(config) for is_of in matchers))

        runs = list(dict.fromkeys(run for run, _ in wanted))
        found = gather(runs)
        if len(found) > 1:
            # Posteriors are exact in some of these worlds only.
            each = [one for run in runs for one in gather([run])]
            pooled = pool_results([one.results for one in each], range(len(each)))
            found = [each[0]._replace(results=pooled)]
        return found[0]._replace(name=name)

    def editors(self, **where: Any) -> list[ScoredEditor]:
        """What each editor reached in some cells together."""
        key = repr(where)
        if key not in self._scored:
            self._scored[key] = score_editors(self.results(**where))
        return self._scored[key]

    @cached_property
    def frame(self) -> Frame:
        """All estimates, of cells that are pooled together."""
        return self._frame_of(self.groups)

    @cached_property
    def world_frame(self) -> Frame:
        """All estimates, of each cell by itself."""
        return self._frame_of(self._cells)

    def _frame_of(self, groups: Sequence[Values]) -> Frame:
        scored = [(group, editors) for group in groups if (editors := self.editors(**group))]
        return concat_frames([frame_of(editors).tag(**group) for group, editors in scored])

    def tables(self) -> Iterator[Table]:
        """What the study shows."""
        yield from (make_table(view, self.frame) for view in self.study.views)
        yield from (make_table(view, self.world_frame) for view in self.study.world_views)
        yield from self.study.tables(self)

    def write_record(self) -> None:
        """Tables are printed, and with all figures they are the record."""
        runs = self.runs()
        figures = dict(self.study.figures(self))
        if self._tuning:
            figures["tuned"] = read_searches(self.run_of(self._tuned_cell))
        folder = record_tables(
            self.options,
            runs[0],
            self.tables(),
            self.study.title(self.options) or self.name.replace("_", "-"),
            command_of_options(self.name, self.options, self.study.options),
            figures_of_frame(self.frame, self.study.subsets) if self.has_edits else (),
            models={run.name: {"accuracy": read_metrics(run)[-1]["accuracy"]} for run in runs},
            **figures,
        )
        if self.has_edits:
            groups = [(group, self.editors(**group)) for group in self.groups]
            write_cases(groups, self.study.subsets, folder / CASES)


def run_study(name: str, study: Study, options: Any) -> None:
    """All stages and then the record; until the minutes are over."""
    prepare_jax()
    findings = Findings(name, study, options)
    finish_stages(chain(findings.stages(), [("record", findings.write_record)]), findings.clock)


def record_tables(
    options: Any,
    run: Run,
    tables: Iterable[Table],
    title: str = "",
    command: str = "",
    rows: Iterable[Figure] = (),
    names: tuple[str, ...] = (),
    **trees: Any,
) -> Path:
    """Print the tables of a study, and write its record: see `experiments.record.write_record`.

    Args:
        options: what the study was asked; a module's own `Settings` say how it is called.
        run: one whose settings the record has.
    """
    shown = list(tables)
    say("\n".join(map(markdown_section, shown)))
    if not command:
        name = name_of_module(sys.modules[type(options).__module__])
        title, command = title or name.replace("_", "-"), command_of_options(name, options, type(options)())
    settings = {key: _name_files(value) for key, value in asdict(options).items() if key not in PLACES}
    folder = write_record(run, title, command, shown, rows, names, settings, **trees)
    say(f"record: {folder}")
    return folder


def presets_of(study: Study, cell: Values) -> tuple[str, str, str]:
    """The presets of a cell's corpus, training and edits."""
    preset = study.preset(cell) if callable(study.preset) else study.preset
    return (preset, preset, preset) if isinstance(preset, str) else preset


def command_of_options(name: str, options: Any, default: Any) -> str:
    """What repeats a study: options unlike the default, a folder of data as FOLDER."""
    words = []
    for one in fields(options):
        value = getattr(options, one.name)
        option = f"--{one.name.replace('_', '-')}"
        if one.name in ("path", "facts") and value:
            words.append(f"{option} FOLDER")
        elif one.name not in PLACES and value != getattr(default, one.name):
            several = _name_files(value if isinstance(value, tuple) else (value,))
            words.append(option if value is True else " ".join([option, *map(quote, map(str, several))]))
    return " ".join([f"python -m experiments.{name}", *words])


def _name_files(value: Any) -> Any:
    """A file by its name alone, since a record knows no folder of a machine; everything else as it is."""
    if isinstance(value, tuple):
        return tuple(map(_name_files, value))
    return value.name if isinstance(value, Path) else value
