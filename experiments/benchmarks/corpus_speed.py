"""How fast a corpus is made, and what it costs in memory: kernels, command, scales, threads, reader.

Command:
    python -m experiments.corpus_speed

Takes about a quarter of an hour on 2 cores and writes experiments/records/<date>-corpus-speed;
figures are medians of five runs with the smallest and the largest. `--stages kernels` runs a part. Expected,
on 2 cores: kernels above 200 million tokens/s on two threads; the paper's corpus from its graph in under 12
seconds and 3 GiB; a million facts under 6 GiB; cost linear in size; 20.6 million triples read, filtered
and paired in under 3 minutes and 4 GiB; the same bytes for every number of threads.
"""

import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from corpus.config import DocumentConfig
from corpus.files import hash_file
from corpus.generative import GenerativeModel, generative_model
from corpus.graph import KnowledgeGraph
from corpus.seeds import generator
from corpus.text.documents import cut_documents
from corpus.text.language import Atom, Kind, Sentence
from corpus.text.sentences import count_mentions, sample_sentences
from corpus.text.store import document_lengths, join_documents, read_counts, spell_sentences
from corpus.text.tokenizer import SEP, Tokenizer, train_bpe
from corpus.world import build_world
from experiments.benchmarks.harness import (
    BenchmarkSettings,
    measure_process,
    rate_runs,
    run_benchmark,
    show_processes,
    show_ranges,
    summarise_runs,
)
from experiments.benchmarks.naive import published_sentences, shuffle_by_keys
from experiments.command import launch_module
from testbed.console import say
from testbed.presets import CORPUS
from testbed.run.runs import Run

Stage = Literal["kernels", "command", "scale", "bytes", "reader"]
# A child's peak memory counts from its parent's, so the stage that fills this process comes last.
STAGES: tuple[Stage, ...] = ("command", "scale", "bytes", "reader", "kernels")
NAIVE_SUBJECTS = 60
SUBJECTS = (6_579, 26_316, 83_333, 263_158)


@dataclass(frozen=True)
class Settings(BenchmarkSettings):
    """What is measured, and where its files go."""

    stages: tuple[Stage, ...] = STAGES
    """Parts to run."""
    repeats: int = 5
    """Runs of each measurement."""
    pythons: tuple[str, ...] = (sys.executable,)
    """Interpreters that must write the same bytes."""


def paper_world() -> tuple[KnowledgeGraph, GenerativeModel, Tokenizer]:
    """Graph, distributions and tokenizer of the paper preset."""
    settings = CORPUS["paper"]
    graph = build_world(settings.world, settings.seed)
    model = generative_model(graph, generator(settings.seed, "generative"))
    sentences = sample_sentences(graph, model, generator(settings.seed, "sentences"), 2)
    counts = count_mentions(sentences, len(graph.entities), len(graph.relations))
    return graph, model, train_bpe(graph, counts, settings.tokenizer.vocabulary)


def make_tokens(
    graph: KnowledgeGraph, model: GenerativeModel, tokenizer: Tokenizer, threads: int
) -> Iterator[np.ndarray]:
    """Everything from distributions to tokens in memory: sample, shuffle, cut, spell, join."""
    sentences = sample_sentences(graph, model, generator(0, "sentences"), threads)
    documents = cut_documents(sentences, DocumentConfig(), generator(0, "documents"), threads)
    spelled = spell_sentences(sentences, tokenizer, threads)
    lengths = document_lengths(documents, spelled, threads)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    for _, tokens in join_documents(documents, spelled, offsets, threads):
        yield tokens


def measure_kernels(settings: Settings) -> dict[str, Any]:
    """Tokens per second from distributions to tokens in memory, beside the twin and a plain copy."""
    graph, model, tokenizer = paper_world()
    blocks = list(make_tokens(graph, model, tokenizer, 2))
    tokens = sum(map(len, blocks))
    source = np.concatenate(blocks)
    target = np.empty_like(source)
    small = replace(CORPUS["tiny"].world, subjects=NAIVE_SUBJECTS)
    small_graph = build_world(small, 0)
    small_model = generative_model(small_graph, generator(0, "generative"))

    def make_all_tokens(threads: int) -> None:
        for _ in make_tokens(graph, model, tokenizer, threads):
            pass

    def count_naive_tokens() -> int:
        streams = generator(0, "sentences").spawn(1)
        sentences_of_twin = published_sentences(small_graph, small_model, streams, len(small_graph))
        about = [s for s in small_graph.subject.tolist() for _ in range(24)]
        groups = [[i for i, s in enumerate(about) if s == who] for who in small_graph.subjects.tolist()]
        order = shuffle_by_keys(groups, [5] * len(groups), generator(0, "documents"))
        rows = [naive_row(small_tokenizer, sentences_of_twin[i]) for i in range(len(sentences_of_twin))]
        return len([token for i in order for token in (*rows[i], SEP)])

    sentences = sample_sentences(small_graph, small_model, generator(0, "sentences"))
    counts = count_mentions(sentences, len(small_graph.entities), len(small_graph.relations))
    small_tokenizer = train_bpe(small_graph, counts, 4000)
    repeats = settings.repeats
    rates = {
        "kernels, 1 thread": rate_runs(lambda: make_all_tokens(1), repeats, tokens / 1e6),
        "kernels, 2 threads": rate_runs(lambda: make_all_tokens(2), repeats, tokens / 1e6),
        "plain copy of the same bytes": rate_runs(lambda: np.copyto(target, source), repeats, tokens / 1e6),
        "naive twin": rate_runs(count_naive_tokens, repeats, count_naive_tokens() / 1e6),
    }
    show_ranges(f"{tokens:,} tokens from distributions to memory", "million tokens/s", rates, 1)
    return {"tokens": tokens} | {
        name: {key: 1e6 * value for key, value in rate.items()} for name, rate in rates.items()
    }


def naive_row(tokenizer: Tokenizer, sentence: tuple) -> np.ndarray:
    """Tokens of a sentence of the twin."""
    kind, label, a, b = sentence
    labelled = None if kind == Kind.ATOMIC else label
    return tokenizer.sentence(Sentence(kind, labelled, Atom(*a), Atom(*b) if b else None))


def build_run(run: Run, *options: str, python: str = sys.executable) -> dict[str, float]:
    """`testbed.corpus paper` into a run, measured."""
    place = ("--runs", str(run.root), "--run", run.name)
    return measure_process(python, "-m", "testbed.corpus", "paper", *place, *options)


def measure_command(settings: Settings) -> dict[str, Any]:
    """`testbed.corpus paper` from a graph on disk to finished, checksummed files."""
    run = Run(settings.scratch, "paper")
    build_run(run)
    runs = []
    for _ in range(settings.repeats):
        shutil.rmtree(run.corpus)
        runs.append(build_run(run))
    figures, counts = summarise_runs(runs), read_counts(run.corpus)
    show_processes("testbed.corpus paper, from its graph", "tokens", {f"{counts['tokens']:,}": figures})
    return {**figures, "counts": counts}


def measure_scale(settings: Settings) -> dict[str, Any]:
    """Seconds and memory from nothing to files, a quarter of the paper's facts to ten times as many."""
    sizes: list[dict[str, Any]] = []
    for subjects in SUBJECTS:
        share, run = subjects / SUBJECTS[1], Run(settings.scratch, "scale")
        runs = []
        for _ in range(settings.repeats):
            runs.append(
                build_run(
                    run, "--world.subjects", str(subjects),
                    "--world.builtin.upstream-objects", str(round(2000 * share)),
                    "--world.builtin.downstream-objects", str(round(500 * share)),
                )
            )  # fmt: skip
            with np.load(run.world / "graph.npz", allow_pickle=False) as arrays:
                facts = len(arrays["subject"])
            shutil.rmtree(run.folder)
        sizes.append({"facts": facts, **summarise_runs(runs)})
    count = np.array([size["facts"] for size in sizes], float)
    seconds = np.array([size["seconds"]["median"] for size in sizes])
    steps = np.diff(np.log(seconds)) / np.diff(np.log(count))
    # What any world costs, such as starting Python, hides how cost grows; so also without it.
    slope, fixed = np.polyfit(count, seconds, 1)
    exponent = float(np.polyfit(np.log(count), np.log(seconds), 1)[0])
    beyond = float(np.polyfit(np.log(count), np.log(np.maximum(seconds - fixed, 1e-3)), 1)[0])
    title = f"cost by size: facts to the power {exponent:.2f}; {beyond:.2f} beyond {fixed:.1f} fixed seconds"
    show_processes(title, "facts", {f"{size['facts']:,}": size for size in sizes})
    return {
        "sizes": sizes,
        "exponent": exponent,
        "exponent_of_each_step": steps.tolist(),
        "fixed_seconds": float(fixed),
        "exponent_beyond_fixed": beyond,
        "seconds_per_100k_facts": float(1e5 * slope),
    }


def measure_bytes(settings: Settings) -> dict[str, Any]:
    """The same bytes for one and two threads, twice, under every interpreter."""
    sums: dict[str, dict[str, str]] = {}
    for number, python in enumerate(settings.pythons):
        for threads in (1, 2):
            for again in range(2):
                run = Run(settings.scratch, f"bytes-{number}-{threads}-{again}")
                build_run(run, "--threads", str(threads), python=python)
                folders = (run.world, run.corpus)
                sums[f"{python} {threads} {again}"] = {
                    f"{folder.name}/{path.name}": hash_file(path)
                    for folder in folders
                    for path in sorted(folder.iterdir())
                }
                shutil.rmtree(run.folder)
    first = next(iter(sums.values()))
    same = all(other == first for other in sums.values())
    say(f"{len(sums)} corpora of {len(first)} files each: {'the same bytes' if same else 'DIFFERENT BYTES'}")
    versions = [
        subprocess.run([p, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        for p in settings.pythons
    ]
    return {"corpora": len(sums), "pythons": versions, "same": same, "sha256": first}


def measure_reader(settings: Settings) -> dict[str, Any]:
    """A stand-in of Wikidata5m's size: read, filtered and paired, then once more from the binary copy."""
    folder, zipped = settings.scratch / "standin", settings.scratch / "zipped"
    subprocess.run(
        [sys.executable, "-m", "experiments.wikidata_standin", "--folder", str(folder)], check=True
    )
    zipped.mkdir(exist_ok=True)
    for number, names in enumerate((("all_triplet",), ("entity", "relation"))):
        with tarfile.open(zipped / f"standin_{number}.tar.gz", "w:gz", compresslevel=1) as archive:
            for name in names:
                archive.add(folder / f"standin_{name}.txt", f"standin_{name}.txt")
    program = (
        "import sys; from pathlib import Path; from corpus.config import WorldConfig; "
        "from corpus.world import build_world; "
        "world = WorldConfig(source='wikidata', path=sys.argv[1], subjects=26_316, max_lines=10**9); "
        "build_world(world, 0, cache=Path(sys.argv[2]))"
    )
    cache = settings.scratch / ".cache"
    by_source: dict[str, list[dict[str, float]]] = {"files": [], "binary copy": [], "tar.gz": []}
    for _ in range(settings.repeats):
        for name, source in (("files", folder), ("binary copy", folder), ("tar.gz", zipped)):
            by_source[name].append(measure_process(sys.executable, "-c", program, str(source), str(cache)))
        shutil.rmtree(cache)
    figures = {name: summarise_runs(runs) for name, runs in by_source.items()}
    show_processes("20.6 million triples, read, filtered and paired", "from", figures)
    sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
    return figures | {"bytes": sizes}


MEASURES: dict[Stage, Callable[[Settings], dict[str, Any]]] = {
    "kernels": measure_kernels,
    "command": measure_command,
    "scale": measure_scale,
    "bytes": measure_bytes,
    "reader": measure_reader,
}


def run_study(settings: Settings) -> None:
    """Run the stages and write what they found."""
    run_benchmark(settings, MEASURES)


if __name__ == "__main__":
    launch_module()
