"""From a WorldConfig to a KnowledgeGraph, whatever the source."""

from collections.abc import Callable
from pathlib import Path

from corpus import (
    builtin,
    coupled,
    coupled_real,
    people_generated,
    people_real,
    tables,
    taxonomy_files,
    taxonomy_generated,
    taxonomy_graph,
    wikidata,
)
from corpus.account import Account
from corpus.config import WorldConfig
from corpus.graph import KnowledgeGraph
from corpus.rawfiles import Watch, read_unwatched
from corpus.seeds import generator
from corpus.selection import select


def build_world(
    config: WorldConfig,
    seed: int,
    all_candidates: bool = False,
    cache: Path | None = None,
    watch: Watch = read_unwatched,
    note: Callable[[str], None] = lambda _: None,
    account: Account | None = None,
) -> KnowledgeGraph:
    """The graph that `config` describes; its randomness comes from the stream "world" of `seed`.

    Args:
        all_candidates: for worlds of kind `exact`: let relations of the built-in world have objects that
            nobody has, leave out relations that have a single object, and keep properties that a
            category lacks as silent facts.
        cache: folder for binary copies of large files.
        watch, note: show progress, and remarks about what was read.
        account: is told what was left out and renamed.

    Raises:
        InputError: a missing or malformed file, an unknown relation, an empty graph.
    """
    rng, account = generator(seed, "world"), account or Account()
    match config.source:
        case "builtin":
            return builtin.build_builtin_world(config.subjects, config.builtin, rng, all_candidates)
        case "taxonomy":
            if config.path:
                kinds = taxonomy_files.read_taxonomy(Path(config.path), config.taxonomy, account)
            else:
                kinds = taxonomy_generated.generate_taxonomy(config.taxonomy, rng)
            return taxonomy_graph.graph_of(kinds, config, account, all_candidates)
        case "coupled":
            if config.path:
                return coupled_real.read_coupled_people(config, rng, cache, watch, note, account)
            return coupled.build_coupled_world(config.subjects, config.coupled, rng)
        case "people":
            if config.path:
                return people_real.read_people_world(config, rng, cache, watch, note, account)
            return people_generated.build_people_world(config.subjects, config.people, rng)
        case "wikidata":
            facts = wikidata.read_wikidata(config, cache, watch, note, account)
        case "tsv":
            facts = tables.read_tables(config, watch, account)
    return select(facts, config, rng, account, note, two_objects=all_candidates)
