"""python -m testbed.corpus [tiny|small|paper]: build a world and write its corpus."""

from collections.abc import Sequence

from testbed.console import command, say, table
from testbed.launch import launch
from testbed.presets import CORPUS, CorpusSettings
from testbed.runs import Run, claim, digest


def build_corpus(options: CorpusSettings) -> None:
    """World, sentences, tokenizer and token files, each written whole; does nothing where they exist."""
    from corpus.files import staged_folder, write_json
    from corpus.generative import generative_model, load_generative, save_generative
    from corpus.graph import load_graph, save_graph
    from corpus.language import Language
    from corpus.seeds import generator
    from corpus.sentences import cut_documents, sample_sentences, save_sentences
    from corpus.store import write_documents
    from corpus.tokenizer import entity_tokenizer, save_tokenizer, train_bpe
    from corpus.world import build_world

    run, seed = Run(options.runs, options.run), options.seed
    if run.world.exists() or run.corpus.exists():
        claim(run, "corpus", options, made=True)
    if run.corpus.exists():
        say(f"{run.folder} has this corpus already")
    else:
        if run.world.exists():
            graph, model = load_graph(run.world), load_generative(run.world / "generative.npz")
        else:
            graph = build_world(options.world, seed)
            model = generative_model(graph, generator(seed, "generative"), options.distractors)
        sentences = sample_sentences(graph, model, generator(seed, "sentences"))
        say(f"world of {len(graph):,} facts; writing {len(sentences):,} sentences")
        if options.tokenizer.kind == "entity":
            tokenizer = entity_tokenizer(graph)
        else:
            language = Language(graph.entities, graph.relations)
            text = (language.render(sentences[i]) for i in range(len(sentences)))
            tokenizer = train_bpe(graph, text, options.tokenizer.vocabulary)
        claim(run, "corpus", options, made=run.world.exists())
        if not run.world.exists():
            with staged_folder(run.world) as aside:
                save_graph(graph, aside)
                save_generative(model, aside / "generative.npz")
        with staged_folder(run.corpus) as aside:
            write_json(aside / "origin.json", {"world": digest(run.world)})
            save_sentences(sentences, aside / "sentences.npz")
            save_tokenizer(tokenizer, aside / "tokenizer.json")
            order, offsets = cut_documents(sentences, generator(seed, "documents"))
            write_documents(aside, sentences, order, offsets, tokenizer)
    _summarise(run)


def _summarise(run: Run) -> None:
    import numpy as np

    from corpus.language import Kind
    from corpus.store import read_counts
    from testbed.world import load_world

    world, counts = load_world(run), read_counts(run.corpus)
    graph = world.graph
    kinds = np.bincount(world.sentences.kind, minlength=len(Kind))
    rows = [
        ("subjects", f"{len(graph.subjects):,}"),
        ("relations", f"{len(graph.relations):,}"),
        ("facts", f"{len(graph):,}"),
        ("objects (K)", f"{len(graph.objects):,}"),
        *((f"{kind.name.lower()} sentences", f"{kinds[kind]:,}") for kind in Kind),
        ("documents", f"{counts['documents']:,}"),
        ("tokens", f"{counts['tokens']:,}"),
        ("vocabulary", f"{counts['vocabulary']:,}"),
    ]
    table(f"corpus {run.folder}", ("", "count"), rows)


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return command("corpus", __doc__ or "", CORPUS, build_corpus, args)


if __name__ == "__main__":
    launch(main)
