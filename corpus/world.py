"""From a WorldConfig to a KnowledgeGraph, whatever the source."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from corpus.config import WorldConfig
from corpus.errors import InputError
from corpus.graph import KnowledgeGraph
from corpus.seeds import generator
from corpus.worlds.account import Account
from corpus.worlds.builtin import build_builtin_world
from corpus.worlds.chain import build_chain_world
from corpus.worlds.couples.generated import build_coupled_world
from corpus.worlds.couples.real import read_couples
from corpus.worlds.members import spread_sets
from corpus.worlds.people import build_people_world
from corpus.worlds.people.real import read_people_world
from corpus.worlds.rawfiles import Watch, read_unwatched
from corpus.worlds.selection import select_facts
from corpus.worlds.tables import read_tables
from corpus.worlds.taxonomy.build import build_taxonomy_graph
from corpus.worlds.wikidata import read_wikidata


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
    if config.path:
        config = replace(config, path=str(Path(config.path).expanduser()))
    if config.several == "set" and config.source not in ("wikidata", "tsv"):
        raise InputError(f"--world.several set is for sources wikidata and tsv, not {config.source}")
    match config.source:
        case "builtin":
            return build_builtin_world(
                config.subjects, config.builtin, rng, all_candidates, config.min_relations
            )
        case "taxonomy":
            return build_taxonomy_graph(config, rng, account, all_candidates)
        case "coupled":
            if config.path:
                return read_couples(config, rng, cache, watch, note, account)
            return build_coupled_world(config.subjects, config.coupled, rng)
        case "chain":
            return build_chain_world(config.chain, rng)
        case "people":
            if config.path:
                return read_people_world(config, rng, cache, watch, note, account)
            return build_people_world(config.subjects, config.people, rng)
        case "wikidata":
            facts = read_wikidata(config, cache, watch, note, account)
        case "tsv":
            facts = read_tables(config, watch, note, account)
    if config.several == "set":
        facts = spread_sets(facts, config, account, note)
    return select_facts(facts, config, rng, account, note, two_objects=all_candidates)
