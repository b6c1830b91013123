"""python -m testbed.completion: print what makes bash complete commands and options of `credence`.

    source <(credence completion)            (in bash; add the line to ~/.bashrc to have it always)

In zsh the same line works behind `autoload -U bashcompinit && bashcompinit`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

from testbed.command_line import option_names
from testbed.commands.example import find_examples
from testbed.engine.catalogue import editor_entries
from testbed.launch import JSON, launch_command, run_command
from testbed.presets import CORPUS, DEFAULT_PRESET, EDIT, EXPORT, SCORE, TRAIN, TUNE
from testbed.settings import (
    AskSettings,
    BatterySettings,
    DemoSettings,
    EditorsSettings,
    ExamineSettings,
    ExampleSettings,
    RemoveSettings,
    ReportSettings,
    VerifySettings,
)

OPTIONS: dict[str, Any] = {
    "demo": DemoSettings(),
    "corpus": CORPUS,
    "train": TRAIN,
    "editors": EditorsSettings(),
    "edit": EDIT,
    "tune": TUNE,
    "report": ReportSettings(),
    "ask": AskSettings(),
    "export": EXPORT,
    "score": SCORE,
    "examine": ExamineSettings(),
    "verify": VerifySettings(),
    "remove": RemoveSettings(),
    "battery": BatterySettings(),
    "example": ExampleSettings(),
}
"""Command -> its settings, or presets of them."""
SCRIPT = """\
_credence() {{
  local words
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="{commands}"
  else
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
  fi
  COMPREPLY=( $(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}") )
}}
complete -o default -F _credence credence"""


@dataclass(frozen=True)
class CompletionSettings:
    """Nothing to choose."""


def print_completion(_: CompletionSettings) -> None:
    """Print the script."""
    cases = "\n".join(f'      {name}) words="{" ".join(words_of(name))}" ;;' for name in OPTIONS)
    print(SCRIPT.format(commands=" ".join([*OPTIONS, "completion"]), cases=cases))


def words_of(command: str) -> Iterator[str]:
    """What may stand behind a command: its presets, editors or examples, and its options."""
    options = OPTIONS[command]
    if isinstance(options, Mapping):
        yield from options
        options = options[DEFAULT_PRESET]
    if hasattr(options, "editors"):
        yield from editor_entries()
    if command == "demo":
        yield from get_args(get_type_hints(DemoSettings)["preset"])
    if command == "example":
        yield from find_examples()
    yield from (*option_names(options), JSON, "--help")


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return run_command("completion", __doc__ or "", CompletionSettings, print_completion, args)


if __name__ == "__main__":
    launch_command(main)
