"""A world and its corpus."""

from dataclasses import fields
from operator import attrgetter
from pathlib import Path

from corpus.errors import InputError
from corpus.exact import ExactModel, draw_world
from corpus.files import require_unchanged, staged_folder, verify_folder, write_json
from corpus.generative import GenerativeModel, generative_model
from corpus.graph import KnowledgeGraph
from corpus.pipeline import compose_corpus, draw_sentences, save_corpus
from corpus.seeds import generator
from corpus.world import build_world
from corpus.worlds.account import Account, describe_change, digest_sources, save_account
from corpus.worlds.own import build_own_graph, count_statements
from testbed.console import say, show_progress
from testbed.engine.versions import STAGES, describe_other_versions
from testbed.presets import CORPUS
from testbed.run.lock import only_one
from testbed.run.own_world import Origin, make_own_world
from testbed.run.runs import ORIGIN, Run, claim_stage, folder_digest
from testbed.run.settings import CorpusSettings, as_plain_data
from testbed.run.world import read_world, save_world
from testbed.waiting import doing
from testbed.world_tables import show_world


def build_corpus(options: CorpusSettings) -> None:
    """World, sentences, tokenizer and token files, each written whole; does nothing where they exist."""
    _refuse_unused(options)
    run = Run(options.runs, options.run)
    with only_one(run, "corpus"):
        if run.world.exists() or run.corpus.exists():
            claim_stage(run, "corpus", options, made=True)
            # Another source by now is refused; one that is gone is missed, but the world is there.
            change = describe_change(run.world, *_sources_of(options))
            if change and all(
                Path(path).expanduser().exists() for path in filter(None, _sources_of(options))
            ):
                raise InputError(f"{change}; choose another --run, or move {run.folder} away")
            if change:
                say(change)
        if not run.corpus.exists():
            _write_corpus(run, options)
        elif not run.world.exists():
            # The same settings draw the same world.
            account = Account()
            _save_world(run, options, *_draw_world(options, account), account)
        else:
            say(f"{run.folder} has this corpus already")
            for sentence in describe_other_versions(run):
                say(sentence)
    show_world(run, options)


def _refuse_unused(options: CorpusSettings) -> None:
    """Refuse options of another kind of corpus or source; those of some preset are not meant."""
    if options.world.several == "set" and (options.kind, options.distractors) == (
        "published",
        "any-relation",
    ):
        raise InputError(
            "--world.several set has relations whose objects are yes and no, and any object may stand in a "
            "wrong statement: choose --distractors same-relation, or --kind exact"
        )
    unused = []
    if options.kind == "published":
        unused += [("exact", field.name, "--kind is published") for field in fields(options.exact)]
    else:
        unused.append(("", "distractors", "--kind is exact"))
    if options.world.source != "builtin":
        where = f"--world.source is {options.world.source}"
        unused += [("world.builtin", field.name, where) for field in fields(options.world.builtin)]
    presets = [preset for preset in CORPUS.values() if not preset.world.is_own]
    for parent, name, where in unused:
        path = attrgetter(f"{parent}.{name}".strip("."))
        if path(options) not in [path(preset) for preset in presets]:
            option = f"{parent}.{name}".strip(".").replace("_", "-")
            raise InputError(f"--{option} does nothing where {where}: leave one of them out")


def _write_corpus(run: Run, options: CorpusSettings) -> None:
    seed, threads = options.seed, options.threads
    fresh = not run.world.exists()
    if not fresh:
        verify_folder(run.world)
    account = Account()
    doing("drawing the world")
    graph, model = _draw_world(options, account) if fresh else read_world(run)
    sentences, resolution = draw_sentences(graph, model, options.exact, options.documents, seed, threads)
    say(f"world of {len(graph):,} facts; writing {len(sentences):,} sentences")
    doing("composing documents")
    # Everything that can be refused comes before the first file.
    corpus = compose_corpus(
        graph, model.truth, sentences, options.documents, options.tokenizer, seed, threads
    )
    claim_stage(run, "corpus", options, made=not fresh, version=STAGES["corpus"])
    if fresh:
        _save_world(run, options, graph, model, account)
    with staged_folder(run.corpus) as aside, show_progress("documents", len(corpus.documents)) as advance:
        origin = {"settings": as_plain_data(options), "inputs": {}}
        write_json(aside / ORIGIN, {"world": folder_digest(run.world), "made": origin})
        save_corpus(corpus, resolution, aside, threads, advance)


def _save_world(
    run: Run,
    options: CorpusSettings,
    graph: KnowledgeGraph,
    model: GenerativeModel | ExactModel,
    account: Account,
) -> None:
    with staged_folder(run.world) as aside:
        save_world(graph, model, aside)
        if options.world.source != "builtin":
            save_account(account, aside)


def _draw_world(
    options: CorpusSettings, account: Account
) -> tuple[KnowledgeGraph, GenerativeModel | ExactModel]:
    rng, cache = generator(options.seed, "generative"), options.runs / ".cache"
    exact, sources = options.kind == "exact", _sources_of(options)
    if options.world.is_own:
        world = make_own_world(Origin(options.world.source, options.seed, options.world.subjects))
        graph = build_own_graph(world)
        return draw_world(graph, options.exact, rng, redraw=False, often=count_statements(world, graph))
    with require_unchanged(*(Path(path).expanduser() for path in sources if path)):
        account.source = digest_sources(*sources) if sources[0] else ""
        graph = build_world(options.world, options.seed, exact, cache, show_progress, say, account)
    if exact:
        return draw_world(graph, options.exact, rng, redraw=options.world.source == "builtin")
    return graph, generative_model(graph, rng, options.distractors)


def _sources_of(options: CorpusSettings) -> tuple[str, ...]:
    """Paths of what a world is read from; empty where there is none."""
    return options.world.path, options.world.labels, options.world.people.tags
