"""One step at the name, learned with the exact posterior as its target: does it beat plain steps and `keyed`?

Command:
    python -m experiments.analyses.meta_step --laws home

An edit is a vector added to the embedding of the subject's one token, after four steps of gradient. What a
step descends is the request's divergence and, weighted, that of what the model says of the subject's other
relations, which is to stay. An outer loop (Adam, sixteen practice requests a step) goes through the four
steps and lessens the divergence from the exact agent's beliefs about the subject, mean over the kinds of
questions of the evaluation `kinds`. What it learns:

rates   4 numbers: how far each step goes; nothing is to stay
seven   3 more: weights exp(a) sigmoid(b logit(p) - c) of what is to stay, p being how sure the model is of it
map     2,048 more: a map of rank 8 from the gradient to what is added to the step

The first two learn in one world of development (`--learned-in`), whose names, structure and model are not
those they are judged by. The map is of one model's basis: it learns in each model, and what it is judged by
is held out of its practice: the subjects of requests; a third of the relations, requested and asked (a
relation goes with the one it depends on); a third of each relation's objects, requested. No practice edits
a fact that a request edits. Beside these stand, from the runs of `python -m experiments.kinds`, whose
requests they are, `none`, `keyed-request` and `keyed`. Every world is kept, so that a killed command goes on.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from bayes.request import EditRequest
from corpus.seeds import generator
from corpus.text.tokenizer import BOS
from experiments.command import launch_module
from experiments.studies.kinds import FIRST, SHARED
from experiments.study import StudyOptions
from testbed.console import say
from testbed.engine.results import Results, read_results
from testbed.engine.trace import read_config
from testbed.evaluations.catalogue import evaluation_named
from testbed.evaluations.gold import ask_agents
from testbed.evaluations.kinds import metrics as m
from testbed.open_run import OpenRun, open_run
from testbed.protocol import is_equally_good
from testbed.run.strata import StatementIndex
from testbed.scores.gather import pool_results
from testbed.scores.readers import columns_of
from testbed.scores.summary import summarise_results
from testbed.scores.tables import Table, markdown_section

STEPS, RANK, FOLDS, CREDENCE = 4, 8, 3, 0.95
OUTER, BATCH, ROWS, RATE = 60, 16, 256, 0.05
"""Steps of the outer loop, requests in each, requests that it draws from, and Adam's learning rate."""
WIDTH, HEADS, HEAD, LAYERS = 128, 2, 64, 2
MOST_TOKENS, MOST_RELATIONS = 320, 10
"""Vocabularies and relations are padded, so that all models are compiled once."""
SHOWN = ((m.SUCCESS, "all"), (m.FOLLOW, SHARED["subset"]), (m.STAY_STATED, "all"), (m.STAY_SILENT, "all"),
         (m.TV_OWN, "all"), (m.SKILL, "all"), (m.SKILL_RECALIBRATED, "all"), (m.KEPT, "all"))  # fmt: skip
Arrays = dict[str, Any]


@dataclass(frozen=True)
class Settings(StudyOptions):
    """What is measured."""

    laws: tuple[str, ...] = ("home",)
    worlds: int = 10
    learned_in: Path = Path("runs/kinds-home-290")
    """The world of development in which `rates` and `seven` learn."""
    splits: tuple[str, ...] = ("subjects", "relations", "objects")
    """What is held out of the map's practice."""
    practice: int = 240
    """Practice requests drawn in each world, where it has as many."""


def run_study(options: Settings) -> None:
    """Learn, edit and judge world by world, then print what came of it."""
    first = open_run(options.learned_in, "exact")
    taught = read_or_make(
        options.runs / f"meta-step-{options.learned_in.name}.npz", lambda: teach(first, options)
    )
    for law in options.laws:
        found: dict[str, list[Results]] = {}
        for seed in range(FIRST, FIRST + options.worlds):
            run = open_run(options.runs / f"kinds-{law}-{seed}", "exact")
            kept = options.runs / f"meta-step-{law}-{seed}.npz"
            make = partial(answer_requests, run, taught, options)
            answers = read_or_make(kept, make)
            say(f"{law} {seed}: " + ", ".join(f"{k} {v:.3g}" for k, v in answers.items() if not v.ndim))
            for way, results in results_of(run, answers):
                found.setdefault(way, []).append(results)
        say(markdown_section(table_of(law, found)))


def read_or_make(path: Path, make: Any) -> Arrays:
    """Arrays from a file; made and written where it is not there."""
    if not path.exists():
        made = make()
        np.savez(path.with_suffix(".part.npz"), **made)
        path.with_suffix(".part.npz").rename(path)
    with np.load(path) as stored:
        return dict(stored)


def teach(run: OpenRun, options: Settings) -> Arrays:
    """`rates` and `seven`, learned in a world of development from all its practice requests."""
    model, practice = load_arrays(run), draw_practice(run, options.practice, set())
    taught = {}
    for way in ("rates", "seven"):
        learned, seconds = learn(model, way, practice)
        say(
            f"{way}: {seconds:.0f} s, "
            + ", ".join(f"{k} {np.round(learned[k], 2)}" for k in "rate a b c".split())
        )
        taught |= {f"{way} {name}": value for name, value in learned.items()}
    return taught


def answer_requests(run: OpenRun, taught: Arrays, options: Settings) -> Arrays:
    """By way p(next token) [requests, relations, tokens] after each edit; also what it took."""
    model, cases = load_arrays(run), results_named(run, "none").cases
    asked = [
        jnp.asarray(x) for x in request_columns(run, *(cases[k] for k in ("subject", "relation", "object")))
    ]
    answers, took = {}, 0.0
    for way in ("rates", "seven"):
        answers[way] = edit_all(model, {name: taught[f"{way} {name}"] for name in start_of("")[0]}, *asked)
    begin = time.process_time()
    practice = draw_practice(
        run, options.practice, set(zip(cases["subject"].tolist(), cases["relation"].tolist(), strict=True))
    )
    answers |= {
        "practice requests": len(practice["s"]),
        "seconds to draw practice": time.process_time() - begin,
    }
    for split, rows, hidden, test in split_practice(run, practice, cases):
        if split not in options.splits or not test.any():
            continue
        some = {name: x[rows] for name, x in practice.items()}
        some["role"] = np.where(np.isin(np.arange(MOST_RELATIONS), hidden), -1, some["role"])
        learned, seconds = learn(model, "map", some)
        took = max(took, seconds)
        after = np.array(edit_all(model, learned, *asked))
        way = f"map, {split} held out"
        answers[way] = np.where(test[:, None, None], after, answers.get(way, after))
    begin = time.process_time()
    jax.block_until_ready(edit_all(model, {k: taught[f"seven {k}"] for k in start_of("")[0]}, *asked))
    answers |= {"seconds of learning": took, "seconds an edit": (time.process_time() - begin) / len(test)}
    return {name: np.asarray(x) for name, x in answers.items()}


def split_practice(
    run: OpenRun, practice: Arrays, cases: Arrays
) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """What is held out; bool of practice left; relations that are not asked; bool of cases to judge."""
    graph, none = run.world.graph, np.zeros(0, int)
    yield "subjects", ~np.isin(practice["s"], cases["subject"]), none, np.ones(len(cases["subject"]), bool)
    root = [u if u >= 0 else r for r, u in enumerate(graph.upstream.tolist())]
    part = np.unique(root, return_inverse=True)[1] % FOLDS

    def third_of(relations: np.ndarray, objects: np.ndarray) -> np.ndarray:
        places = zip(relations, objects, strict=True)
        return np.array([np.searchsorted(graph.candidates_of(int(r)), o) % FOLDS for r, o in places])

    for f in range(FOLDS):
        hidden = np.flatnonzero(part == f)
        yield "relations", part[practice["r"]] != f, hidden, part[cases["relation"]] == f
        of_practice = third_of(practice["r"], practice["o"])
        yield "objects", of_practice != f, none, third_of(cases["relation"], cases["object"]) == f


def draw_practice(run: OpenRun, count: int, taken: set[tuple[int, int]]) -> Arrays:
    """Requests as the evaluation draws them, most of which change an answer, with the agent's beliefs.

    Returns:
        s, r, o: int[N]; st, ot: tokens of s and o; gold: [N, relations, tokens]; role: int[N, relations], 0
        for the request, 1 follows, 2 stays and is stated, 3 stays and is silent, -1 no fact of the subject's.
    """
    world, agent, graph, rng = run.world, run.agent, run.world.graph, generator(0, "practice")
    stated = StatementIndex(graph, world.sentences)
    tokens = np.array([world.tokenizer.entity(int(o))[0] for o in graph.objects])
    wanted = {True: count * 3 // 4, False: count - count * 3 // 4}
    keys: dict[tuple[int, int, int], None] = {}
    gold, roles, options = [], [], {}
    for _ in range(15 * count):
        fact = int(rng.integers(len(graph)))
        s, r = int(graph.subject[fact]), int(graph.relation[fact])
        if fact not in options:
            belief = agent.predict(s, r)
            objects = belief.support[belief.support != belief.mode()]
            options[fact] = objects[~agent.rules_out(s, r, objects)]
        if (s, r) in taken or not len(options[fact]):
            continue
        o = int(rng.choice(options[fact]))
        after_it = agent.with_edit(EditRequest(s, r, o, agent.weight_for(s, r, o, CREDENCE), "evidence"))
        own = [int(f) for f in graph.facts_of(s)]
        before, after = ask_agents([agent, after_it], [(s, int(graph.relation[f])) for f in own])
        kept = np.take_along_axis(after, before.argmax(axis=1)[:, None], axis=1)[:, 0]
        moved = ~is_equally_good(kept, after.max(axis=1))
        changes = bool((moved & (np.array(own) != fact)).any())
        if (s, r, o) in keys or not wanted[changes]:
            continue
        wanted[changes] -= 1
        keys[s, r, o] = None
        after[own.index(fact)] = ask_agents([after_it], [(s, r)], "direct")[0][0]
        gold.append(np.zeros((MOST_RELATIONS, MOST_TOKENS), np.float32))
        roles.append(np.full(MOST_RELATIONS, -1))
        for f, row, follows in zip(own, after, moved, strict=True):
            gold[-1][graph.relation[f], tokens] = row
            stays = 2 if len(stated.objects_of(f)) else 3
            roles[-1][graph.relation[f]] = 0 if f == fact else 1 if follows else stays
        if not any(wanted.values()):
            break
    s, r, o = np.array([*keys]).T
    st, _, ot = request_columns(run, s, r, o)
    return {"s": s, "r": r, "o": o, "st": st, "ot": ot, "gold": np.stack(gold), "role": np.stack(roles)}


def request_columns(run: OpenRun, s: np.ndarray, r: np.ndarray, o: np.ndarray) -> tuple[np.ndarray, ...]:
    """Tokens of subjects, relations, tokens of objects."""
    names = [np.array([run.world.tokenizer.entity(int(x))[0] for x in which]) for which in (s, o)]
    return names[0], r, names[1]


def load_arrays(run: OpenRun) -> Arrays:
    """The model's weights, padded; tokens of relations; how far embeddings of names are from their mean."""
    params, tokenizer, graph = run.model.params, run.world.tokenizer, run.world.graph
    layers, more = params["layers"], MOST_TOKENS - run.model.vocabulary
    relations = [tokenizer.row(int(tokenizer.relation_row(r)))[0] for r in range(len(graph.relations))]
    if (
        more < 0
        or len(relations) > MOST_RELATIONS
        or (run.model.config.hidden, run.model.config.layers) != (WIDTH, LAYERS)
    ):
        raise ValueError("this script is for models of experiments.kinds")
    table = np.asarray(params["embedding"])
    names = table[[tokenizer.entity(int(s))[0] for s in np.unique(graph.subject)]]
    kernels = {name: layers["attention"][name]["kernel"] for name in ("query", "key", "value", "out")}
    kernels |= {name: layers["mlp"][name]["kernel"] for name in ("gate", "up", "down")}
    return {name: jnp.asarray(x) for name, x in kernels.items()} | {
        "first": jnp.asarray(layers["attention_norm"]["scale"]),
        "second": jnp.asarray(layers["mlp_norm"]["scale"]),
        "last": jnp.asarray(params["norm"]["scale"]),
        "embedding": jnp.pad(table, ((0, more), (0, 0))),
        "head": jnp.pad(params["head"]["kernel"], ((0, 0), (0, more))),
        "hide": jnp.where(jnp.arange(MOST_TOKENS) < run.model.vocabulary, 0.0, -1e9),
        "relations": jnp.asarray(np.pad(relations, (0, MOST_RELATIONS - len(relations)), mode="edge")),
        "is_relation": jnp.arange(MOST_RELATIONS) < len(relations),
        "size": jnp.float32(np.sqrt(((names - names.mean(axis=0)) ** 2).sum(axis=1).mean())),
    }


TOKENS = 2 + MOST_RELATIONS
POSITIONS = np.r_[0, 1, np.full(MOST_RELATIONS, 2)]
SEES = (
    np.eye(TOKENS, dtype=bool)
    | (np.arange(TOKENS) == 0)
    | ((np.arange(TOKENS) == 1) & (POSITIONS[:, None] > 0))
)
"""All relations are read at once behind "<s> s", each seeing that and itself."""
ANGLES = POSITIONS[:, None, None] * 10000.0 ** (-np.arange(0, HEAD, 2) / HEAD)
COSINE, SINE = np.cos(ANGLES).astype(np.float32), np.sin(ANGLES).astype(np.float32)


def ask(model: Arrays, subject: jax.Array, vector: jax.Array) -> jax.Array:
    """Log p [relations, tokens] of what follows "<s> s r", a vector added to the name, as in `lm.model`."""

    def norm(x: jax.Array, scale: jax.Array) -> jax.Array:
        return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5) * scale

    def turn(x: jax.Array) -> jax.Array:
        a, b = jnp.split(x, 2, axis=-1)
        return jnp.concatenate([a * COSINE - b * SINE, b * COSINE + a * SINE], axis=-1)

    x = model["embedding"][jnp.concatenate([jnp.stack([jnp.int32(BOS), subject]), model["relations"]])]
    x = x.at[1].add(vector)
    for i in range(LAYERS):
        read = norm(x, model["first"][i])
        query, key, value = (
            (read @ model[name][i]).reshape(TOKENS, HEADS, HEAD) for name in ("query", "key", "value")
        )
        score = jnp.einsum("tnh,snh->nts", turn(query), turn(key)) * HEAD**-0.5
        weight = jax.nn.softmax(jnp.where(SEES, score, -1e30))
        x = x + jnp.einsum("nts,snh->tnh", weight, value).reshape(TOKENS, WIDTH) @ model["out"][i]
        read = norm(x, model["second"][i])
        x = x + (jax.nn.silu(read @ model["gate"][i]) * (read @ model["up"][i])) @ model["down"][i]
    return jax.nn.log_softmax(norm(x[2:], model["last"]) @ model["head"] + model["hide"])


def start_of(way: str) -> tuple[Arrays, Arrays]:
    """What is learned, before it is; and 1 for the numbers that a way learns."""
    learned = {"rate": jnp.full(STEPS, -1.5), "a": jnp.float32(-9), "b": jnp.float32(0), "c": jnp.float32(0),
               "into": jnp.zeros((WIDTH, RANK)), "out": jnp.zeros((WIDTH, RANK))}  # fmt: skip
    on = {name: jnp.float32(name == "rate") for name in learned}
    if way in ("seven", "map"):
        learned |= {"a": jnp.float32(0), "b": jnp.float32(1)}
        on |= {name: jnp.float32(1) for name in "abc"}
    if way == "map":
        learned["into"] = jax.random.normal(jax.random.key(0), (WIDTH, RANK)) * WIDTH**-0.5
        on |= {name: jnp.float32(1) for name in ("into", "out")}
    return learned, on


def edit(
    model: Arrays, learned: Arrays, subject: jax.Array, relation: jax.Array, obj: jax.Array
) -> jax.Array:
    """The vector of one request."""
    before = ask(model, subject, jnp.zeros(WIDTH))
    p = jnp.exp(before)
    target = CREDENCE * jax.nn.one_hot(obj, MOST_TOKENS) + (1 - CREDENCE) * p[relation]
    sure = jnp.clip(p.max(axis=1), 1e-6, 1 - 1e-6)
    stays = model["is_relation"] & (jnp.arange(MOST_RELATIONS) != relation)
    weight = (
        jnp.exp(learned["a"])
        * jax.nn.sigmoid(learned["b"] * jnp.log(sure / (1 - sure)) - learned["c"])
        * stays
    )

    def loss_of(vector: jax.Array) -> jax.Array:
        now = ask(model, subject, vector)
        request = jnp.sum(target * (jnp.log(target + 1e-9) - now[relation]))
        return request + jnp.vdot(weight, jnp.sum(p * (before - now), axis=1))

    def step(vector: jax.Array, rate: jax.Array) -> tuple[jax.Array, None]:
        gradient = jax.grad(loss_of)(vector)
        gradient /= jnp.maximum(jnp.sqrt(jnp.sum(gradient**2) + 1e-12) * model["size"], 1.0)
        move = gradient + learned["out"] @ (learned["into"].T @ gradient)
        return vector - model["size"] ** 2 * jnp.exp(rate) * move, None

    return jax.lax.scan(step, jnp.zeros(WIDTH), learned["rate"])[0]


@jax.jit
def edit_all(model: Arrays, learned: Arrays, subjects: Any, relations: Any, objects: Any) -> jax.Array:
    """p(next token) [requests, relations, tokens] after each request."""

    def one(s: jax.Array, r: jax.Array, o: jax.Array) -> jax.Array:
        return jnp.exp(ask(model, s, edit(model, learned, s, r, o)))

    return jax.vmap(one)(subjects, relations, objects)


def outer_loss(learned: Arrays, model: Arrays, batch: Arrays) -> jax.Array:
    """Nats from the agent's beliefs to the edited model's: mean by kind of question, summed over kinds."""

    def one(s: Any, r: Any, o: Any, gold: Any, role: Any) -> tuple[jax.Array, jax.Array]:
        now = jnp.maximum(ask(model, s, edit(model, learned, s, r, o)), -16.0)
        nats = jnp.sum(gold * (jnp.log(gold + 1e-9) - now), axis=1)
        is_kind = role == jnp.arange(4)[:, None]
        return is_kind @ nats / jnp.maximum(is_kind.sum(axis=1), 1), is_kind.any(axis=1)

    nats, there = jax.vmap(one)(*(batch[k] for k in ("st", "r", "ot", "gold", "role")))
    return (nats.sum(axis=0) / jnp.maximum(there.sum(axis=0), 1)).sum()


OPTIMIZER = optax.chain(
    optax.clip_by_global_norm(1.0), optax.adam(optax.cosine_decay_schedule(RATE, OUTER, 0.1))
)


@jax.jit
def descend(model: Arrays, learned: Arrays, on: Arrays, practice: Arrays, picks: jax.Array) -> Arrays:
    """The outer loop; a map's numbers go a tenth as fast as the others."""

    def step(carry: tuple, pick: jax.Array) -> tuple[tuple, None]:
        learned, moments = carry
        gradient = jax.grad(outer_loss)(learned, model, {k: x[pick] for k, x in practice.items()})
        gradient = {k: x * on[k] for k, x in gradient.items()}
        update, moments = OPTIMIZER.update(gradient, moments, learned)
        update |= {k: 0.1 * update[k] for k in ("into", "out")}
        return (optax.apply_updates(learned, update), moments), None

    return jax.lax.scan(step, (learned, OPTIMIZER.init(learned)), picks)[0][0]


def learn(model: Arrays, way: str, practice: Arrays) -> tuple[Arrays, float]:
    """What a way learns from practice requests, and the seconds of a processor that it took."""
    rng, count = generator(0, "rows"), len(practice["s"])
    rows = np.r_[rng.permutation(count)[:ROWS], rng.integers(0, count, max(ROWS - count, 0))]
    some = {k: jnp.asarray(practice[k][rows]) for k in ("st", "r", "ot", "gold", "role")}
    begin = time.process_time()
    picks = jnp.asarray(rng.integers(0, ROWS, (OUTER, BATCH)))
    learned = jax.block_until_ready(descend(model, *start_of(way), some, picks))
    return {k: np.asarray(x) for k, x in learned.items()}, time.process_time() - begin


def results_named(run: OpenRun, editor: str, asks: str = "") -> Results:
    """What an editor's edits of a run came to, from disk."""
    for folder in sorted((run.run.edits / "kinds").glob(f"{editor}-*")):
        config = read_config(folder)
        of = config["method"]["settings"].get("config", {}).get("asks", "")
        if config["editor"] == editor and of == asks:
            return read_results(folder, columns_of(evaluation_named("kinds")()))
    raise ValueError(f"{run.run.folder} has no edits by {editor}; run python -m experiments.kinds first")


def results_of(run: OpenRun, answers: Arrays) -> Iterator[tuple[str, Results]]:
    """By way what it came to: those on disk, and ours, where others' answers stay as they are."""
    none = results_named(run, "none")
    yield "none", none
    yield "keyed-request", results_named(run, "keyed-request")
    yield "keyed", results_named(run, "keyed", "one cause")
    yield "keyed, learned", results_named(run, "keyed", "learned")
    choices, entity = none.choices, run.world.tokenizer.entity
    tokens = np.array([entity(i)[0] for i in range(len(run.world.graph.entities))])
    objects = np.full(MOST_TOKENS, -1)
    objects[tokens] = np.arange(len(tokens))
    own = np.flatnonzero(choices.subject == none.cases["subject"][choices.case])
    for way, after in answers.items():
        if after.ndim < 3:
            continue
        lm, best = choices.lm.copy(), choices.lm_answer.copy()
        for i in own:
            p, named = after[choices.case[i], choices.relation[i]], choices.options[i] >= 0
            lm[i, 1, named] = p[tokens[choices.options[i, named]]]
            best[i, 1] = objects[p.argmax()]
        yield way, replace(none, choices=choices._replace(lm=lm, lm_answer=best))


def table_of(law: str, found: dict[str, list[Results]]) -> Table:
    """What follows and stays by each way, with intervals over worlds."""
    evaluation, rows = evaluation_named("kinds")(), []
    for way, parts in found.items():
        frame = summarise_results(evaluation, pool_results(parts, range(len(parts))), way, {})
        rows.append([way, *(frame.cell(metric, way, subset) for metric, subset in SHOWN)])
    return Table(
        f"meta-step-{law}", f"{law}, {len(parts)} worlds", ["way", *(metric for metric, _ in SHOWN)], rows
    )


if __name__ == "__main__":
    launch_module()
