"""python -m testbed.completion: print what makes bash complete commands and options of `credence`.

    source <(credence completion)            (in bash; add the line to ~/.bashrc to have it always)

In zsh the same line works behind `autoload -U bashcompinit && bashcompinit`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, get_args, get_type_hints

from testbed.__main__ import COMMANDS, SCRIPT_COMMANDS
from testbed.command_line import option_names
from testbed.commands.example import find_examples
from testbed.engine.catalogue import editor_entries
from testbed.launch import JSON, Command, launch_command
from testbed.presets import DEFAULT_PRESET
from testbed.settings import DemoSettings

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
    cases = "\n".join(f'      {name}) words="{" ".join(words_of(name))}" ;;' for name in COMMANDS)
    print(SCRIPT.format(commands=" ".join(SCRIPT_COMMANDS), cases=cases))


def options_of(command: str) -> Any:
    """The settings of a command, or presets of them."""
    options = import_module(f"testbed.{command}").main.options
    return options if isinstance(options, Mapping) else options()


def words_of(command: str) -> Iterator[str]:
    """What may stand behind a command: its presets, editors or examples, and its options."""
    options = options_of(command)
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


main = Command("completion", __doc__, CompletionSettings, print_completion)

if __name__ == "__main__":
    launch_command(main)
