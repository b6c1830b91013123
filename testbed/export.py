"""python -m testbed.export: the trained model and its tokenizer as Hugging Face's libraries open them."""

from collections.abc import Sequence

from corpus.errors import InputError
from corpus.files import read_json, verify_folder
from testbed.console import print_table, run_command, say
from testbed.launch import launch_command
from testbed.run.lock import only_one
from testbed.run.runs import Run, folder_digest
from testbed.settings import ExportSettings

ORIGIN = "origin.json"
STOPS_SHOWN = 5


def export(options: ExportSettings) -> None:
    """Write a run's checkpoint, configuration and tokenizer as one folder, and print how to open it.

    Does nothing where the folder holds this checkpoint already.

    Raises:
        InputError: a run without a trained model, names that the files cannot tell apart, or a folder
            with something else in it.
    """
    from corpus.text.tokenizer import find_unsure_stops, tokenizer_files
    from lm.huggingface import export_model
    from testbed.run.model import load_model
    from testbed.run.runtime import prepare_jax
    from testbed.run.world import load_world

    run = Run(options.runs, options.run)
    world = load_world(run)
    prepare_jax()
    model, checkpoint = load_model(run, world, options.checkpoint)
    folder = options.folder or run.folder / "huggingface"
    origin = {"checkpoint": folder_digest(checkpoint), "corpus": folder_digest(run.corpus)}
    if not folder.exists():
        with only_one(run, "export"):
            export_model(model, folder, tokenizer_files(world.tokenizer) | {ORIGIN: origin})
    elif (folder / ORIGIN).exists() and read_json(folder / ORIGIN) == origin:
        verify_folder(folder)
        say(f"{folder} holds this checkpoint already")
    else:
        raise InputError(f"{folder} holds something else; choose another --folder, or move it away")

    files = ("config.json", "model.safetensors", "tokenizer.json")
    sizes = [(name, (folder / name).stat().st_size) for name in files]
    print_table(f"{checkpoint.name} of {run.folder}, {model.vocabulary:,} tokens", ("file", "bytes"), sizes)
    unsure = find_unsure_stops(world.tokenizer)
    if unsure:
        names = ", ".join(map(repr, unsure[:STOPS_SHOWN])) + (", ..." if len(unsure) > STOPS_SHOWN else "")
        say(f"{len(unsure)} names may hide the end of a sentence when documents are encoded: {names}")
    say("from transformers import AutoModelForCausalLM as M, AutoTokenizer as T")
    say(f"model, tokenizer = M.from_pretrained({str(folder)!r}), T.from_pretrained({str(folder)!r})")


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return run_command("export", __doc__ or "", ExportSettings, export, args)


if __name__ == "__main__":
    launch_command(main)
