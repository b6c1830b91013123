"""What `testbed.corpus` prints of a world: groups of people, dependences of a table, and its statistics."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from corpus.arrays import find_modes
from corpus.errors import name_some
from corpus.exact import ExactModel
from corpus.graph import NO_UPSTREAM, KnowledgeGraph
from corpus.text.documents import DocumentKind, load_documents
from corpus.text.language import Kind
from corpus.text.names import find_lookalikes
from corpus.text.store import read_counts
from corpus.worlds import taxonomy
from corpus.worlds.account import EXAMPLES, RENAMED, load_account
from corpus.worlds.evidence import SURE, Evidence, weigh_evidence
from corpus.worlds.people import GROUPINGS, RELATIONS, STAND_INS
from corpus.worlds.reversals import find_reversals
from testbed.cells import Shown, show_number
from testbed.console import print_table, say
from testbed.run.runs import Run
from testbed.run.settings import CorpusSettings
from testbed.run.strata import STRATA, SUPPORT_BINS, StatementIndex, support_bin
from testbed.run.world import World, load_world

LONGEST = 30
"""Characters of a name in the table, which is 80 wide."""


def show_world(run: Run, options: CorpusSettings) -> None:
    """Print what was built, and what was left out on the way."""
    world, counts = load_world(run), read_counts(run.corpus)
    graph = world.graph
    kinds = np.bincount(world.sentences.kind, minlength=len(Kind))
    rows = [
        ("subjects", len(graph.subjects)),
        ("relations", len(graph.relations)),
        ("facts", len(graph)),
        ("objects (K)", len(graph.objects)),
        *((f"{kind.name.lower()} sentences", kinds[kind]) for kind in Kind if kinds[kind]),
        *((name, counts[name]) for name in ("documents", "tokens", "vocabulary")),
    ]
    print_table(f"corpus {run.folder}", ("", "count"), rows)
    if options.world.source != "builtin" and not options.world.is_own:
        _show_source(run, options, graph)
    if options.world.source == "people":
        groups = [(f"{grouping}: {group}", *counts) for grouping, group, *counts in groups_of(graph)]
        print_table("groups", ("", "people", "of them often", "of them said"), groups)
        if options.world.path:
            stand_ins = f"; {', '.join(STAND_INS.values())}" if options.world.people.tags else ""
            say(f"people are real, groups are the authors' tags{stand_ins}")
    if options.stats:
        _show_stats(run, world)


def _show_source(run: Run, options: CorpusSettings, graph: KnowledgeGraph) -> None:
    account = load_account(run.world)
    if account.left_out:
        print_table(f"left out of {options.world.path}", ("", "count"), [*account.left_out.items()])
    for what, names in account.named.items():
        say(f"{what}: {name_some(names, ', all in account.json')}")
    if account.renamed:
        examples = "; ".join(f"{one.name!r:.80}" for one in account.renamed[:EXAMPLES])
        say(f"{len(account.renamed):,} names were changed, such as {examples}; all: {run.world / RENAMED}")
    if groups := find_lookalikes(graph.entities):
        examples = "; ".join(" and ".join(map(ascii, group)) for group in groups[:EXAMPLES])
        say(
            f"{sum(map(len, groups)):,} names look like another one and are entities of their own, such as "
            f"{examples}"
        )
    _show_dependences(graph)
    _show_reversals(graph, options.world.reversals == "found")


class KindCount(NamedTuple):
    """One line of Hase's Table 6; `labelled_true` is NaN for atomic sentences, which have no label."""

    kind: Kind
    sentences: int
    per_fact: float
    labelled_true: float


def sentence_table(world: World) -> list[KindCount]:
    """Hase's Table 6 for a world: its sentences by kind."""
    kind, label = world.sentences.kind, world.sentences.label
    lines = []
    for k in (Kind.ATOMIC, Kind.TRUTH, Kind.NOT, Kind.AND, Kind.OR):
        mine = kind == k
        true = label[mine].mean() if k != Kind.ATOMIC and mine.any() else np.nan
        lines.append(KindCount(k, int(mine.sum()), float(mine.sum() / len(world.graph)), float(true)))
    return lines


def support_histogram(world: World) -> tuple[np.ndarray, np.ndarray]:
    """How many upstream objects, and how many upstream facts, there are by support n_u.

    n_u is the number of subjects that have an object as the ground truth of one upstream relation.

    Returns:
        Two int64[bins of SUPPORT_BINS].
    """
    objects, facts = np.zeros(len(SUPPORT_BINS), int), np.zeros(len(SUPPORT_BINS), int)
    for relation in world.graph.upstream_relations:
        candidates = world.graph.candidates_of(relation)
        truth = world.generative.truth[world.graph.relation == relation]
        support = np.bincount(np.searchsorted(candidates, truth), minlength=len(candidates))
        bins = support_bin(support)
        objects += np.bincount(bins, minlength=len(SUPPORT_BINS))
        facts += np.bincount(bins, weights=support, minlength=len(SUPPORT_BINS)).astype(int)
    return objects, facts


def noise_share(world: World) -> float:
    """Share of eligible targets of contradicting upstream requests that are nobody's ground truth.

    Under the `published` sampler a request about a fact may name any object that the corpus's atomic
    sentences name with its relation, except the fact's own truth. The share is averaged over the facts
    of all upstream relations. NaN where no such request exists.
    """
    shares: list[np.ndarray] = []
    statements = StatementIndex(world.graph, world.sentences)
    for relation in world.graph.upstream_relations:
        stated_objects = statements.objects_by_relation[relation]
        truth = world.generative.truth[world.graph.relation == relation]
        noise = np.setdiff1d(stated_objects, truth)
        eligible = len(stated_objects) - np.isin(truth, stated_objects)
        shares.append(len(noise) / eligible[eligible > 0])
    return float(np.concatenate(shares).mean()) if shares and len(np.concatenate(shares)) else float("nan")


def judged_share(world: World) -> float:
    """Share of edits of an upstream fact by whose consequence any method could be judged.

    Of all contradicting requests that the `published` sampler may draw about a fact with a dependent: those
    whose new object at least two subjects have together with the dependent relation, so that a consequence
    can be learned, and whose commonest dependent object is not the one that the subject has anyway. NaN
    where no such request exists.
    """
    graph, truth = world.graph, world.generative.truth
    statements = StatementIndex(graph, world.sentences)
    shares: list[np.ndarray] = []
    for relation in np.flatnonzero(graph.upstream != NO_UPSTREAM).tolist():
        stated_objects = statements.objects_by_relation[int(graph.upstream[relation])]
        facts = np.flatnonzero((graph.relation == relation) & (graph.upstream_fact >= 0))
        above, here = truth[graph.upstream_fact[facts]], truth[facts]
        implied = find_modes(above, here, len(graph.entities))
        implied[np.bincount(above, minlength=len(graph.entities)) < 2] = -1
        # Requests for the fact's own truth are not edits.
        among = np.bincount(
            implied[stated_objects][implied[stated_objects] >= 0], minlength=len(graph.entities)
        )
        own = np.isin(above, stated_objects) & (implied[above] >= 0) & (implied[above] != here)
        eligible = len(stated_objects) - np.isin(above, stated_objects)
        judged = among.sum() - among[here] - own
        shares.append(judged[eligible > 0] / eligible[eligible > 0])
    return float(np.concatenate(shares).mean()) if shares and len(np.concatenate(shares)) else float("nan")


def _show_stats(run: Run, world: World) -> None:
    """Print all of it as tables."""
    if world.graph.properties:
        title, header, _ = taxonomy.count_table(world.graph)
        print_table(title, header, [tuple(line) for line in taxonomy.count_upper_groups(world.graph)])
    print_table(
        "sentences (Table 6)",
        ("kind", "sentences", "per fact", "labelled true"),
        [
            (
                line.kind.name.lower(),
                line.sentences,
                show_number(line.per_fact, ".2f"),
                show_number(line.labelled_true, ".3f"),
            )
            for line in sentence_table(world)
        ],
    )
    kinds, _ = load_documents(run.corpus / "documents.npz")
    count = np.bincount(kinds, minlength=len(DocumentKind))
    rows = [(k.name.lower(), count[k], show_number(count[k] / len(kinds), ".1%")) for k in DocumentKind]
    print_table("documents", ("kind", "documents", "share"), rows)
    objects, facts = support_histogram(world)
    print_table(
        "support n_u: subjects that share an upstream object",
        ("n_u", "objects", "facts"),
        [*zip(SUPPORT_BINS, objects, facts, strict=True)],
    )
    if isinstance(world.generative, ExactModel):
        _show_strata(world, world.generative)
    else:
        noise = [("nobody's true fact", show_number(noise_share(world), ".3f"))]
        print_table("new objects of edits, `published` sampler", ("", "share"), noise)
    causes = float(np.isin(np.arange(len(world.graph)), world.graph.upstream_fact).mean())
    judged = show_number(judged_share(world), ".3f")
    shown = [
        ("facts on which another one depends", show_number(causes, ".3f")),
        ("edits of these whose consequence can be judged", judged),
    ]
    print_table("what edits can show", ("", "share"), shown)


def _show_strata(world: World, model: ExactModel) -> None:
    assert world.exact is not None, "a world with an exact model has its resolution"
    resolution = world.exact.resolution
    downstream = world.graph.upstream_fact >= 0
    groups = [("root", ~downstream), *((s, downstream & (model.stratum == i)) for i, s in enumerate(STRATA))]
    rows = [
        (name, mine.sum(), *((mine & flag).sum() for flag in (resolution.certified, model.open)))
        for name, mine in groups
    ]
    print_table(
        f"facts by stratum; in doubt by at most {resolution.bound.max():.1g} per subject, open ones apart",
        ("stratum", "facts", "certified", "open"),
        rows,
    )


Group = tuple[str, str, int, int, int]
"""Grouping, group, people in it, of them spoken of most often, of them said to be in it."""


def groups_of(graph: KnowledgeGraph) -> Iterator[Group]:
    """Every group of every grouping, the largest first; last those of whom no group is known."""
    often = graph.frequency == graph.frequency[graph.subjects].max()
    for r in (RELATIONS.index(name) for name in GROUPINGS):
        mine = graph.relation == r
        candidates = graph.candidates_of(r)
        sizes = (graph.object[mine] == candidates[:, None]).sum(axis=1)
        for group in candidates[np.argsort(-sizes, kind="stable")].tolist():
            facts = mine & (graph.object == group)
            count = (facts, facts & often[graph.subject], facts & ~graph.silent)
            yield RELATIONS[r], graph.entities[group], *(int(one.sum()) for one in count)
        rest = np.setdiff1d(graph.subjects, graph.subject[mine])
        if len(rest):
            yield RELATIONS[r], "not known", len(rest), int(often[rest].sum()), 0


def weigh_dependences(graph: KnowledgeGraph) -> dict[tuple[int, int], Evidence]:
    """By (cause, effect), the evidence for each dependence of a world, the strongest first."""
    found = {}
    for down in np.flatnonzero(graph.upstream != NO_UPSTREAM).tolist():
        facts = np.flatnonzero((graph.relation == down) & (graph.upstream_fact >= 0) & ~graph.silent)
        causes, effects = graph.object[graph.upstream_fact[facts]], graph.object[facts]
        found[int(graph.upstream[down]), down] = weigh_evidence(causes, effects)
    return dict(sorted(found.items(), key=lambda one: -one[1].gain * one[1].subjects))


def _show_dependences(graph: KnowledgeGraph) -> None:
    found = weigh_dependences(graph)
    rows = []
    for (up, down), one in found.items():
        name = _name_pair(graph.relations[up], graph.relations[down])
        numbers = (show_number(value, ".2f") for value in (one.followed, one.gain, one.chance))
        rows.append((name, one.subjects, *numbers, _judge_evidence(one)))
    if rows:
        header = ("", "subjects", "followed", "nats", "shuffled", "")
        print_table("dependences, each subject foretold by others; nats a subject", header, rows)
    telling = {up for (up, _), one in found.items() if one.gain > 0}
    silent = [name for r, name in enumerate(graph.relations) if r not in telling]
    if silent:
        say(f"relations that determine no other: {name_some(silent)}")


def _show_reversals(graph: KnowledgeGraph, are_known: bool) -> None:
    """Say also what agents make of that."""
    for one in find_reversals(graph):
        first, second = graph.relations[one.one], graph.relations[one.other]
        what = (
            f"{first!r} is symmetric" if one.one == one.other else f"{second!r} is the inverse of {first!r}"
        )
        how = (
            f"{what}: of {one.facts:,} facts whose object has one, too, {one.share:.0%} are stated both ways"
        )
        if are_known:
            say(f"{how}; an edit of one side is one of the other (--world.reversals none takes them apart)")
        else:
            say(f"{how}; by --world.reversals none an edit of one side is to leave the other as it was")


def _judge_evidence(evidence: Evidence) -> str:
    if not evidence.gain > 0:
        return "nothing"
    return "reverse?" if evidence.direction < -SURE else "either way" * (evidence.direction <= SURE)


def _name_pair(up: str, down: str) -> Shown:
    """Both names, on two lines and without their middles where they would push the numbers away."""
    pair = f"{up} -> {down}"
    if len(pair) <= LONGEST:
        return Shown(pair, pair)
    half = (LONGEST - 3) // 2
    names = [n if len(n) <= LONGEST else f"{n[:half]}...{n[-half:]}" for n in (up, down)]
    return Shown("\n-> ".join(names), pair)
