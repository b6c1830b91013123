"""What model and agent answer, also after an --edit."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from bayes.persistence import persistence_posterior
from bayes.structure import structure_posterior
from corpus.text.tokenizer import PAD, SEP
from lm.editors.interface import vocabulary_of
from lm.editors.self_bayes.beliefs import Beliefs
from lm.editors.self_bayes.dependence import Dependence, find_dependence, reading_probability, seldom_share
from lm.editors.self_bayes.recall import recall_beliefs
from testbed.cells import Shown, show_number
from testbed.console import print_table, say
from testbed.engine.catalogue import whose_options
from testbed.engine.tuning import with_tuned_settings
from testbed.engine.versions import describe_other_versions
from testbed.open_run import OpenRun
from testbed.run.runs import Run, recorded_settings
from testbed.run.world import World, exact_config
from testbed.run_parts import parse_question
from testbed.settings import AskSettings, EditSettings
from testbed.waiting import doing


def ask(options: AskSettings) -> None:
    """Print the top answers of model and agent side by side; with an edit, before and after it.

    With an edit, what depends on the edited fact is asked as well. With `structure`, print instead how
    probable each dependence between relations is; with `beliefs`, what `self-bayes` finds in the model.

    Raises:
        InputError: an unknown name or relation, or a run without a trained model.
    """
    doing("loading world, agent and model")
    run = OpenRun(Run(options.runs, options.run), options.agent)
    for sentence in describe_other_versions(run.run):
        say(sentence)
    if options.structure:
        _show_structure(run.run, run.world)
    elif options.beliefs:
        editor = whose_options("self-bayes")
        config = options.configs.get(editor.options, editor.config)
        beliefs = recall_beliefs(run.model, vocabulary_of(run.world.tokenizer), config.beliefs)
        dependence = find_dependence(beliefs, config.dependence)
        seldom = seldom_share(beliefs, config.dependence.seldom)
        known = np.asarray(reading_probability(beliefs.mention_probability, seldom)[1] > 0.5)
        say(f"the model mentions {beliefs.top.shape[1]:,} subjects and {len(beliefs.objects):,} objects")
        header = ("relation", "read of", "depends on", "hangs together with", "p(facts persist)",
                  "in this world")  # fmt: skip
        rows = relations_found(run.world, dependence, known)
        print_table("which relation depends on which", header, rows, False)
        header = ("relation", "depends on", "object of that", "subjects", "most of them", "share")
        rows = rows_found(run.world, beliefs, dependence, known, options.top)
        print_table(f"the {options.top} rows of most subjects", header, rows, False)
    elif not options.edit:
        run.ask(options.question, options.top).print()
        say(f"the agent is {run.standard}")
    else:
        _ask_edited(options, run)


def _ask_edited(options: AskSettings, run: OpenRun) -> None:
    """Print answers before and after an edit: to a question, and to what depends on the edited fact."""
    question = parse_question(run.world, options.question)
    settings = _edit_settings(options, run.run)
    doing(f"editing by {options.editor}")
    edited = run.edit(
        options.editor, options.edit, options.credence, options.request, options.seed, settings, options.learn
    )
    say(f"edit by {options.editor}: {options.edit}")
    doing("asking the model and the agent")
    edited.ask(options.question, options.top).print()
    for s, r in edited.questions:
        if (s, {"": r}) != question:
            edited.ask_about(s, r, options.top).print()
    say(f"the agent is {run.standard}")


def _edit_settings(options: AskSettings, run: Run) -> EditSettings:
    """Hyper-parameters as they were typed, or as they were tuned."""
    settings = EditSettings(
        run=options.run,
        runs=options.runs,
        configs=options.configs,
        tuned=options.tuned,
        agent=options.agent,
        seed=options.seed,
    )
    if options.tuned:
        settings = replace(settings, configs=with_tuned_settings(run, [options.editor], settings))
    return settings


def _show_structure(run: Run, world: World) -> None:
    """p(relation depends on ... | facts), the likeliest first, and whether downstream facts persist."""
    settings, _ = recorded_settings(run, "corpus")
    prior, names = exact_config(settings), world.graph.relations
    is_generated = settings["world"]["source"] not in ("wikidata", "tsv")
    masses = ([prior.root_mass], [prior.row_mass]) if is_generated else ()
    forests = structure_posterior(world.graph, *masses)
    rows = []
    for r, name in enumerate(names):
        best = int(np.argmax(forests.depends[:, r]))
        up = int(world.graph.upstream[r])
        truth = names[up] if up >= 0 else "nothing"
        likeliest = float(forests.depends[best, r])
        depends = Shown(f"{likeliest:.3f} {names[best]}", {"relation": names[best], "probability": likeliest})
        rows.append((name, depends, show_number(forests.alone[r], ".3f"), truth))
    print_table(
        "which relation depends on which", ("relation", "depends on", "on nothing", "in this world"), rows
    )
    persistence = persistence_posterior(world.graph, prior, world.sentences)
    low, high = (f"{x:+,.1f}" for x in (persistence.log_odds_low, persistence.log_odds_high))
    say(
        f"dependent facts persist with probability {persistence.fact_world[0]:.3f} to "
        f"{persistence.fact_world[1]:.3f} (log odds {low} to {high} nats), judged by {persistence.facts:,} "
        f"facts stated often"
    )


LIKELY = 0.05
"""What hangs together with less probability is not listed."""


def relations_found(world: World, dependence: Dependence, known: np.ndarray) -> list[list[Any]]:
    """By relation: of how many subjects it is read, what it depends on, hangs together with; the truth."""
    names, upstream = world.graph.relations, world.graph.upstream
    rows = []
    for r, (up, linked) in enumerate(
        zip(dependence.parent.tolist(), dependence.link_probability, strict=True)
    ):
        near = [n for n in np.argsort(-linked, kind="stable").tolist() if linked[n] > LIKELY]
        together = Shown(
            ", ".join(f"{linked[n]:.2f} {names[n]}" for n in near), {names[n]: linked[n] for n in near}
        )
        cause, persists = (names[up], dependence.persists[r]) if up >= 0 else ("nothing", np.nan)
        truth = names[upstream[r]] if upstream[r] >= 0 else "nothing"
        rows.append([names[r], known[r].sum(), cause, together, show_number(persists, ".2f"), truth])
    return rows


def rows_found(
    world: World, beliefs: Beliefs, dependence: Dependence, known: np.ndarray, most: int
) -> list[list[Any]]:
    """By dependence the objects that most subjects share: what most of these have of what depends on it."""
    names, best = world.graph.relations, beliefs.top[:, :, 0]
    rows = []
    for r in np.flatnonzero(dependence.parent >= 0).tolist():
        up = int(dependence.parent[r])
        both = known[r] & known[up]
        for cause, subjects in Counter(best[up][both].tolist()).most_common(most):
            effect, times = Counter(best[r][both & (best[up] == cause)].tolist()).most_common(1)[0]
            objects = [_object_name(world, beliefs, cause), subjects, _object_name(world, beliefs, effect)]
            rows.append([names[r], names[up], *objects, show_number(times / subjects, ".2f")])
    return rows


def _object_name(world: World, beliefs: Beliefs, place: int) -> str:
    tokens = beliefs.objects[place]
    return world.tokenizer.decode(tokens[(tokens != PAD) & (tokens != SEP)].tolist())
