"""python -m testbed.ask "Ada Marlow educated at": what model and agent answer, also after an --edit."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from testbed.cells import Shown, show_number
from testbed.console import print_table, run_command, say
from testbed.engine.catalogue import whose_options
from testbed.engine.methods import Method
from testbed.engine.tuning import method_named, with_tuned_settings
from testbed.launch import launch_command
from testbed.run.runs import Run, recorded_settings
from testbed.settings import AskSettings, EditSettings

if TYPE_CHECKING:
    from testbed.run.world import World


def ask(options: AskSettings) -> None:
    """Print the top answers of model and agent side by side; with an edit, before and after it.

    With an edit, what depends on the edited fact is asked as well. With `structure`, print instead how
    probable each dependence between relations is; with `beliefs`, what `self-bayes` finds in the model.

    Raises:
        InputError: an unknown name or relation, or a run without a trained model.
    """
    from testbed.engine.witness import RunAnswers, read_edit
    from testbed.run.agents import describe_standard
    from testbed.run.model import load_model
    from testbed.run.runtime import prepare_jax
    from testbed.run.world import load_world

    run = Run(options.runs, options.run)
    world = load_world(run)
    if options.structure:
        _show_structure(run, world)
        return
    prepare_jax()
    if options.beliefs:
        from testbed.beliefs import show_beliefs

        editor = whose_options("self-bayes")
        config = options.configs.get(editor.options, editor.config)
        show_beliefs(world, load_model(run, world)[0], config, options.top)
        return
    question = world.tokenizer.language.parse_prompt(options.question)
    request = read_edit(world, options.edit) if options.edit else None
    witness = RunAnswers(world, load_model(run, world)[0], options.agent)

    questions = [question]
    columns = [("model", witness.model_answers(None)), ("agent", witness.agent_answers(request))]
    if request:
        method = _ask_method(options, run, world)
        dependents = world.graph.dependents.get(int(world.graph.find(*request[:2])), [])
        dependent = [(request[0], int(world.graph.relation[fact])) for fact in dependents]
        questions += [q for q in [request[:2], *dependent] if q != question]
        case = witness.case_of_edit(request, options.credence, options.request, questions)
        delta = witness.delta_of_edit(method, run, case, options.seed)
        columns += [
            ("edited model", witness.model_answers(delta)),
            ("edited agent", witness.agent_answers(request, options.credence, options.request)),
        ]
        say(f"edit by {options.editor}: {options.edit}")
    names, relations = world.graph.entities, world.graph.relations
    for s, r in questions:
        answers = [answer(s, r, options.top) for _, answer in columns]
        rows = [
            [_show_answer(names[a[i][0]], a[i][1]) if i < len(a) else "" for a in answers]
            for i in range(options.top)
        ]
        fact = int(world.graph.find(s, r))
        truth = names[world.generative.truth[fact]] if fact >= 0 else "nothing"
        title = f"{names[s]} {relations[r]} ...   (the world says: {truth})"
        print_table(title, [name for name, _ in columns], rows, numbers=False)
    say(f"the agent is {describe_standard(options.agent, witness.rational_agent.exactness._asdict())}")


def _show_answer(name: str, probability: float) -> Shown:
    return Shown(f"{probability:.2f} {name}", {"object": name, "probability": probability})


def _ask_method(options: AskSettings, run: Run, world: "World") -> Method:
    """The editor that is asked for, as in `testbed.edit` for a single case."""
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
    return method_named(options.editor, settings, world)


def _show_structure(run: Run, world: "World") -> None:
    """p(relation depends on ... | facts), the likeliest first, and whether downstream facts persist."""
    import numpy as np

    from bayes.persistence import persistence_posterior
    from bayes.structure import structure_posterior
    from testbed.run.world import exact_config

    prior, names = exact_config(recorded_settings(run, "corpus")[0]), world.graph.relations
    forests = structure_posterior(world.graph, prior.root_mass, prior.row_mass)
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
        f"downstream facts persist (rho = 1) with probability {persistence.fact_world[0]:.3f} to "
        f"{persistence.fact_world[1]:.3f}: log odds {low} to {high} nats, by {persistence.facts:,} facts "
        f"stated often"
    )


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return run_command("ask", __doc__ or "", AskSettings, ask, args)


if __name__ == "__main__":
    launch_command(main)
