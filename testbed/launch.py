"""Run a command: the process as it must be, options, then the work, and one message for bad input.

Importing this loads no library but that of options. The work names its module, which is loaded last.
"""

import difflib
import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from importlib import import_module
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar, get_type_hints

import tyro

from corpus.errors import InputError
from corpus.memory import is_lack_of_memory
from lm.editors.entry import Entry
from testbed.advice import command_for, words_of_config
from testbed.cells import escape_controls
from testbed.command_line import HELP, parse_options
from testbed.engine.catalogue import editor_entries, entry_named, whose_options
from testbed.evaluations.catalogue import evaluation_named, prefix_of
from testbed.own import OWN
from testbed.presets import DEFAULT_PRESET
from testbed.run.runs import NotMadeError
from testbed.waiting import tell_waits

Options = TypeVar("Options")
BAD_INPUT = 2
JSON = "--json"
VERSION, HELP_ALL, CONFIG = "--version", "--help-all", "--config"
JSON_OUTPUT, SHOW_LOG = "testbed.console:print_json", "testbed.console:show_log"
CONFIGURED = ("corpus", "train", "edit")
TAKES_EDITORS = ("--editor", "--editors")
ABOUT_CONFIG = f"""

With {CONFIG} FILE in place of a preset, a command repeats what FILE recorded: a run's config.json for corpus
and train, that of a folder of edits for edit. Options behind it change single settings."""
ABOUT_JSON = f"""

With {JSON}, tables and lines are one JSON object on standard output, numbers as numbers; progress goes to
standard error."""

# XLA on a CPU allocates and frees large buffers all the time; returning them to the system at once
# costs a third of the training speed.
INTERRUPTED = 130
TUNABLES = (
    "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=4294967296"
)


@dataclass(frozen=True)
class Command:
    """A command; called, it parses a command line and does the work, and returns the exit code.

    Attributes:
        name: behind "testbed."; empty for the package itself.
        about: what --help says of it.
        options, work: as `run_command` takes them.
    """

    name: str
    about: str | None
    options: Any
    work: Callable[[Any], None] | str

    def __call__(self, args: Sequence[str] | None = None) -> int:
        return run_command(self.name, self.about or "", self.options, self.work, args)


def launch_command(main: Callable[[], int]) -> None:
    """Run `main` as a command, in a process as it must be."""
    prepare_process()
    code = main()
    if code == INTERRUPTED:
        # Threads of libraries that are still at work would have their say.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


@cache
def prepare_process() -> bool:
    """Start this process anew where its environment lacks settings, and begin to tell of waits; only once.

    Until the work begins no garbage is looked for: loading libraries makes none. Returns whether help is due.
    """
    asks_for_help = not {*HELP, HELP_ALL, VERSION}.isdisjoint(sys.argv)
    environment = {}
    if sys.platform == "linux" and "GLIBC_TUNABLES" not in os.environ and not asks_for_help:
        environment["GLIBC_TUNABLES"] = TUNABLES
    # Names of files and people are UTF-8, whatever the locale says: under an ASCII one some open no file.
    if sys.getfilesystemencoding() != "utf-8":
        environment["PYTHONUTF8"] = "1"
    if environment:
        os.environ.update(environment)
        os.execv(sys.executable, sys.orig_argv)
    gc.disable()
    signal.signal(signal.SIGINT, _handle_interrupt)
    tell_waits()
    return asks_for_help


def run_command(
    name: str,
    description: str,
    options: type[Options] | Mapping[str, Options],
    work: Callable[[Options], None] | str,
    args: Sequence[str] | None,
) -> int:
    """Parse the command line and do the work; returns the exit code.

    Args:
        name: of the command; with its package where that is not testbed.
        options: a dataclass, or presets of it by name; without a preset on the command line the
            default one is taken. Where it has `configs`, hyper-parameters of the user's own editors that
            are named join them.
        work: what is done with the options; as "module:function", its module is loaded once they are parsed.

    Bad input (`InputError`, files that cannot be read or written) ends in one message and code 2. With --json
    standard output has one JSON object and nothing else, see `print_json`.
    """
    preset = ""
    try:
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
            # So far an interrupt ended the process at once (see testbed/__init__.py).
            signal.signal(signal.SIGINT, signal.default_int_handler)
        args = list(sys.argv[1:] if args is None else args)
        output = load_function(JSON_OUTPUT)() if JSON in args else nullcontext()
        args = [word for word in args if word != JSON]
        if VERSION in args:
            print(f"credence-testbed {version('credence-testbed')}")
            return 0
        if CONFIG in args[:-1]:
            at = args.index(CONFIG)
            args = [*words_of_config(name, Path(args[at + 1])), *args[:at], *args[at + 2 :]]
        # Library log lines would tear the progress display; errors still arrive as exceptions.
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        prog = f"python -m {name}" if "." in name else f"python -m testbed.{name}".rstrip(".")
        default = None if isinstance(options, Mapping) else options()
        if isinstance(options, Mapping):
            preset, args = _preset_of(options, args, _takes_words(options[DEFAULT_PRESET]))
            description = f"{description}\n\n{_about_presets(prog, options, preset)}"
            default = options[preset]
            if hasattr(default, "evaluations"):
                description += f" {HELP_ALL} shows the options of every evaluation and editor."
            if hasattr(default, "configs"):
                description += (
                    f" Editors: {', '.join(editor_entries())}; python -m testbed.editors describes them."
                )
        assert default is not None, "there are defaults, from a preset or not"
        description += ABOUT_CONFIG * (name in CONFIGURED) + ABOUT_JSON
        if HELP_ALL in args:
            args = ["--help"]
        else:
            default = _add_own_settings(default, args)
        settings = parse_options(default, prog, description, args)
        with output:
            load_function(SHOW_LOG)("lm")
            work = load_function(work) if isinstance(work, str) else work
            if not gc.isenabled():
                # What was loaded is not looked through again.
                gc.freeze()
                gc.enable()
            work(settings)
    except NotMadeError as error:
        how = command_for(error.run, error.stage, preset)
        return _print_error(f"{error.why}; run {how} first")
    except InputError as error:
        return _print_error(str(error))
    except BrokenPipeError:
        # Whoever reads has seen enough; nothing more can be written there, not even at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        return _print_error(f"{error.strerror or error}{where}; what was finished before is intact")
    except RecursionError:
        return _print_error("something is nested too deeply to be read; testbed.verify says which file")
    except KeyboardInterrupt as interrupt:
        saved = str(interrupt) or "what was finished is kept"
        print(f"interrupted: {saved}, and the same command goes on from there", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        if is_lack_of_memory(error):
            return _print_error("there is not enough memory for that; choose smaller numbers")
        if place := _place_in_own(error, args or ()):
            return _print_error(f"{type(error).__name__}: {str(error).partition(chr(10))[0]} ({place})")
        said = str(error).upper()
        variable = next(
            (name for name in os.environ if name.startswith(("JAX_", "XLA_")) and name in said), None
        )
        if variable is None:
            raise
        return _print_error(
            f"{variable} is {os.environ[variable]!r} in the environment, with which JAX fails here; unset it "
            f"({type(error).__name__}: {str(error).partition(chr(10))[0]})"
        )
    return 0


def _preset_of(presets: Mapping[str, Any], args: Sequence[str], more: bool) -> tuple[str, list[str]]:
    """The preset that a command line begins with, or the default one, and the rest of it.

    Args:
        more: whether other words may stand in its place, such as names of editors.

    Raises:
        SystemExit: the first word is not a preset, and can be nothing else or is nearly one; code 2.
    """
    first = args[0] if args and not args[0].startswith("-") else ""
    if first in presets:
        return first, list(args[1:])
    if first and (not more or difflib.get_close_matches(first, presets, 1, 0.75)):
        print(f"error: there is no preset {first!r}; presets are {', '.join(presets)}", file=sys.stderr)
        raise SystemExit(2)
    return DEFAULT_PRESET, list(args)


def _takes_words(settings: Any) -> bool:
    """Whether words that belong to no option may stand on a command line, such as names of editors."""
    hints = get_type_hints(type(settings), include_extras=True)
    return any(tyro.conf.Positional in getattr(hint, "__metadata__", ()) for hint in hints.values())


def _about_presets(prog: str, presets: Mapping[str, Any], preset: str) -> str:
    """How presets work, for --help."""
    names = ", ".join(f"{name} (the default)" if name == DEFAULT_PRESET else name for name in presets)
    return (
        f"With a preset: {prog} PRESET [OPTIONS]\n\nA preset is a scale. It sets every option, and options "
        f"behind it change single ones. Presets: {names}. Defaults below are those of {preset}; "
        f"{prog} PRESET --help shows another's."
    )


def load_function(place: str) -> Callable[..., Any]:
    """What "module:function" names, such as the work of a command."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def _handle_interrupt(_: int, frame: FrameType | None) -> None:
    """Ctrl-C. While a library is loaded nothing is at stake, and some abort when that is broken off."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            os._exit(INTERRUPTED)
        frame = frame.f_back
    raise KeyboardInterrupt


def _add_own_settings(options: Options, args: Sequence[str]) -> Options:
    """Settings that also have those of the user's own editors and evaluations that are named.

    Raises:
        InputError: no such module or class.
    """
    changes: dict[str, Any] = {}
    if hasattr(options, "configs"):
        changes["configs"] = options.configs | own_configurations(args)
    if hasattr(options, "configs") and hasattr(options, "editor"):
        changes["configs"] = configs_of_one(changes["configs"], args, options.editor)
    if hasattr(options, "editors") and hasattr(options, "configs") and HELP & set(args):
        # Those of all would be a hundred.
        names = [word for word in args if word in editor_entries() or OWN.fullmatch(word)]
        options_shown = {whose_options(name).options for name in names or options.editors}
        changes["configs"] = {
            key: config for key, config in changes["configs"].items() if key in options_shown
        }
    if hasattr(options, "evaluations"):
        names = [name for name in _values_of("--evaluation", args) if OWN.fullmatch(name)]
        own = {prefix_of(name): evaluation_named(name)() for name in names}
        changes["evaluations"] = options.evaluations | own
    if hasattr(options, "evaluation") and hasattr(options, "evaluations") and HELP & set(args):
        prefix = prefix_of([options.evaluation, *_values_of("--evaluation", args)][-1])
        changes["evaluations"] = {key: one for key, one in changes["evaluations"].items() if key == prefix}
    return replace(options, **changes) if changes else options  # type: ignore[type-var]


def own_configurations(arguments: Sequence[str]) -> dict[str, Any]:
    """Hyper-parameters of the user's own editors that a command line names, by the prefix of their options.

    Raises:
        InputError: an editor is named where only one can be, and is not there; or two have one prefix.
    """
    editors: dict[str, Entry] = {}
    words = _split_words(arguments)
    for before, word in zip(["", *words], words, strict=False):
        if not OWN.fullmatch(word):
            continue
        try:
            entry = entry_named(word)
        except InputError:
            if before in TAKES_EDITORS or not before.startswith("--"):
                raise
            continue
        other = editors.setdefault(entry.options, entry)
        if other.name != entry.name:
            raise InputError(f"{other.name} and {entry.name} both have options --{entry.options}; rename one")
    configs = {options: entry.config for options, entry in editors.items()}
    return {options: config for options, config in configs.items() if is_dataclass(config) and fields(config)}


def configs_of_one(configs: dict[str, Any], arguments: Sequence[str], editor: str) -> dict[str, Any]:
    """The hyper-parameters of the one editor that a command line names by --editor; `editor` without."""
    try:
        options = whose_options([editor, *_values_of("--editor", arguments)][-1]).options
    except InputError:
        # Whoever makes the editor says so.
        return configs
    return {key: config for key, config in configs.items() if key == options}


def _values_of(option: str, arguments: Sequence[str]) -> list[str]:
    """Every word behind an option that takes one."""
    return [word for before, word in pairwise(_split_words(arguments)) if before == option]


def _split_words(arguments: Sequence[str]) -> list[str]:
    return [part for word in arguments for part in word.split("=", 1)]


def _place_in_own(error: BaseException, args: Sequence[str]) -> str:
    """Where an error comes from in the code of the user's that a command line names; nothing elsewhere."""
    modules = {name.partition(":")[0] for word in args for name in OWN.findall(word)}
    files = {getattr(sys.modules.get(name), "__file__", None) for name in modules}
    steps = [step for step in traceback.extract_tb(error.__traceback__) if step.filename in files]
    return f"{steps[-1].filename}, line {steps[-1].lineno}" if steps else ""


def _print_error(message: str) -> int:
    print(f"error: {escape_controls(message)}", file=sys.stderr)
    return BAD_INPUT
