"""Sweeps of edits: each mode, whole or killed and resumed; what is written; controls; the cost."""

import json
import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.text.tokenizer import PAD
from lm.config import ModelConfig
from lm.editors.interface import edit_batch, make_requests
from lm.editors.lora import LoraConfig
from lm.editors.lora.method import lora_down
from lm.editors.none.method import NoEdit
from lm.flops import count_flops
from testbed import edit
from testbed.engine import plan, sweep
from testbed.engine.controls.oracle import half_of_questions
from testbed.engine.methods import Belief, Method, the_request
from testbed.engine.plan import SweepPlan, make_plan
from testbed.engine.prepared_editor import PreparedEditor
from testbed.engine.questions import answer_probes, truth_words
from testbed.engine.records import TABLES, control_stem, is_written
from testbed.engine.requests import build_requests
from testbed.engine.results import read_results
from testbed.engine.sweep import Sweep
from testbed.engine.tuning import method_named
from testbed.engine.versions import identify_method
from testbed.evaluations.hase import ROLES
from testbed.evaluations.hase.metrics import rows_of_role
from testbed.protocol import ControlRequest, Passage, hide_spot_checks
from testbed.run.model import load_model
from testbed.run.runs import Run
from testbed.run.world import load_world
from testbed.settings import CaseConfig, EditSettings
from tests.edited import COLUMNS, HASE, cases_of, tables
from tests.runs import at
from tests.toys import SMALL, random_model, some_requests

CASES, STEPS = 18, 3
LORA = Method(lora_down(LoraConfig(learning_rate=0.02, steps=STEPS)), the_request)
ALL = EditSettings(cases=CaseConfig(CASES))
MODES = {
    "independent": replace(ALL, batch_edits=4),
    "sequences": replace(ALL, sequential=6, batch_edits=2),
    "batches": replace(ALL, batch=3, batch_edits=4),
    "sequences of batches": replace(ALL, sequential=6, batch=3, batch_edits=2),
}


def prepared_of(questions, method, state):
    told = [method.facts_told(case) for case in questions.cases]
    requests = build_requests(questions.tokenizer, questions.cases, told)
    return PreparedEditor(questions, method, state, requests, 0)


class Killed(Exception):  # noqa: N818
    pass


@pytest.fixture(scope="module")
def ready(trained):
    run = Run(trained, "x")
    world = load_world(run)
    model, _ = load_model(run, world)
    cases = cases_of(run, CASES)
    asked = [
        Passage("subject", world.tokenizer.prompt(*c.requested_fact[:2]), samples=2, longest=6) for c in cases
    ]
    return run, world, model, [c._replace(passages=(p,)) for c, p in zip(cases, asked, strict=True)]


def sweep_of(ready, settings=MODES["independent"]):
    return Sweep(*ready, COLUMNS, settings)


def edited(ready, mode, folder, method=LORA, advance=lambda *_: None):
    sweep_of(ready, MODES[mode]).edit_cases(method, folder, advance)
    return folder


class Whole(dict):
    """The folder of each mode without any interruption, edited when it is first asked for."""

    def __init__(self, ready, tmp_path_factory):
        self.edit = lambda mode: edited(ready, mode, tmp_path_factory.mktemp("whole"))

    def __missing__(self, mode):
        self[mode] = self.edit(mode)
        return self[mode]


@pytest.fixture(scope="module")
def whole(ready, tmp_path_factory):
    return Whole(ready, tmp_path_factory)


each_mode = pytest.mark.parametrize(
    "mode", [mode if mode == "independent" else pytest.param(mode, marks=pytest.mark.slow) for mode in MODES]
)


def stems(folder):
    """What the names of tables begin with; every stem has all of them."""
    prefixes = {
        name.removesuffix("cases.parquet") for name in tables(folder) if name.endswith("cases.parquet")
    }
    expected = {f"{stem}{table}.parquet" for stem in prefixes for table in TABLES}
    assert expected == set(tables(folder))
    return sorted(prefixes)


def after(folder, stem=""):
    """float64[cases, roles, options]: what the model answers after the edits."""
    results = read_results(folder, COLUMNS, stem)
    rows = np.stack([rows_of_role(results, role) for role in ROLES], axis=1)
    return np.where(rows[..., None] >= 0, results.choices.lm[rows, 1], 0)


def answers_of(folder, stem, number):
    """All that was asked of some cases, in their order, without their circumstances."""
    asked = {name: tables(folder)[f"{stem}{name}.parquet"].to_pylist() for name in ("choices", "claims")}
    return [[row for rows in asked.values() for row in rows if row["case"] == k] for k in number]


@pytest.fixture
def compiled_once(monkeypatch):
    """Edits by one editor and of equal shapes share programs, as processes do by the cache on disk."""
    compiled, programs = PreparedEditor._compiled_program, {}

    def shared(prepared, function, *arguments):
        shapes = [(x.shape, x.dtype) for x in jax.tree.leaves(arguments)]
        key = (function, prepared.editor, jax.tree.structure(arguments), str(shapes))
        if key not in programs:
            programs[key] = compiled(prepared, function, *arguments)
        return programs[key]

    monkeypatch.setattr(PreparedEditor, "_compiled_program", shared)


@each_mode
@pytest.mark.usefixtures("compiled_once")
def test_killed_and_resumed_is_the_same(mode, ready, whole, tmp_path, monkeypatch):
    """Killed ever later, after edits and between tables, until a session is left alone long enough."""
    other = tables(whole[mode])
    monkeypatch.setattr(sweep, "ROUNDS_BETWEEN_SAVES", 2)
    merge = sweep.merge_tables
    sessions, finished = 0, False
    while not finished:
        calls = iter(range(1000))

        def breathe(*_, calls=calls, limit=1 + sessions // 3):
            if next(calls) >= limit:
                raise Killed

        def merged(*given):
            merge(*given)
            breathe()

        monkeypatch.setattr(sweep, "merge_tables", merged)
        try:
            edited(ready, mode, tmp_path, advance=breathe)
            finished = True
        except Killed:
            # A command that finds cases.parquet looks no further.
            assert not is_written(tmp_path) or tables(tmp_path).keys() == other.keys()
        sessions += 1
    assert sessions > 3
    mine = tables(tmp_path)
    assert mine.keys() == other.keys()
    for name, table in mine.items():
        assert table.equals(other[name]), name


@each_mode
def test_which_tables_there_are(mode, whole):
    expected = {
        "independent": [""],
        "sequences": ["", "retained-1-", "retained-6-"],
        "batches": ["", "retained-3-"],
        "sequences of batches": ["", "retained-6-"],
    }
    assert stems(whole[mode]) == expected[mode]


@each_mode
def test_every_case_stands_once_in_its_place(mode, ready, whole):
    cases, length = ready[3], {"independent": 1, "batches": 3}.get(mode, 6)
    by_name = tables(whole[mode])
    for stem in stems(whole[mode]):
        table = by_name[f"{stem}cases.parquet"]
        number = np.array(table["case"])
        kept = np.arange(CASES) if stem != "retained-1-" else np.arange(0, CASES, 6)
        assert sorted(number) == kept.tolist()
        np.testing.assert_array_equal(table["subject"], [cases[k].request.subject for k in number])
        np.testing.assert_array_equal(table["position"], number % length)
        cluster = [cases[k].request.subject for k in number] if mode == "independent" else number // length
        np.testing.assert_array_equal(table["cluster"], cluster)
        for name in ("choices", "claims"):
            asked = by_name[f"{stem}{name}.parquet"].select(["case", "role"]).to_pylist()
            wanted = [{"case": k, "role": q.role} for k in number for q in getattr(cases[k], name)]
            assert asked == wanted


@pytest.mark.slow
def test_one_edit_is_retained_as_it_was_made(whole):
    """After the first edit of a sequence, after one batch, and for the last edit of any sequence."""
    first = tables(whole["sequences"])
    for name in ("cases", "choices", "claims"):
        made = first[f"{name}.parquet"]
        starts = np.flatnonzero(np.array(made["case"]) % 6 == 0)
        assert made.take(starts).equals(first[f"retained-1-{name}.parquet"])
        batches = tables(whole["batches"])
        assert batches[f"{name}.parquet"].equals(batches[f"retained-3-{name}.parquet"])
    for mode, length in (("sequences", 1), ("sequences of batches", 3)):
        ends = [k for k in range(CASES) if k % 6 >= 6 - length]
        made, kept = (answers_of(whole[mode], stem, ends) for stem in ("", "retained-6-"))
        assert made == kept
        made, kept = (answers_of(whole[mode], stem, range(CASES)) for stem in ("", "retained-6-"))
        assert made != kept, "nothing was forgotten or gained on the way"


@pytest.mark.slow
def test_the_first_edits_of_sequences_are_those_of_unedited_models(whole):
    """Room for further edits changes nothing, up to rounding."""
    alone, first = (after(whole[mode]) for mode in ("independent", "sequences"))
    number = np.array(tables(whole["sequences"])["cases.parquet"]["case"])
    starts = np.flatnonzero(number % 6 == 0)
    np.testing.assert_allclose(first[starts], alone[number[starts]], rtol=1e-3, atol=1e-5)
    later = np.flatnonzero(number % 6 == 5)
    assert np.abs(first[later] - alone[number[later]]).max() > 1e-3


@pytest.mark.slow
def test_what_is_retained_equals_editing_step_by_step(ready, whole):
    """Two batches of three edits on top of each other, composed unmerged and asked one case at a time."""
    _, world, model, cases = ready
    mode = "sequences of batches"
    shared = sweep_of(ready, MODES[mode])
    prepared = prepared_of(shared.questions, LORA, {})
    kept = read_results(whole[mode], COLUMNS, "retained-6-")
    number = kept.cases["case"]
    edit_once = jax.jit(LORA.editor.edit)
    now = model
    for which in (np.arange(3)[None], np.arange(3, 6)[None]):
        _, _, request, key = prepared.arguments_of_first(which)
        now = now.with_delta(edit_once(now, {}, request, key)[0])
    for k in range(6):
        probes = shared.questions.probes_of(np.array([[k]]))
        delta = jax.tree.map(lambda x: x[None], now.delta)
        readings = answer_probes(
            model, delta, probes, truth_words(world.tokenizer), shared.questions.names.longest
        )
        # Several of a case's questions may have one role, so they are taken in their order.
        rows = np.flatnonzero(kept.choices.case == np.flatnonzero(number == k)[0])
        assert len(rows) == len(cases[k].choices)
        for q, (row, choice) in enumerate(zip(rows, cases[k].choices, strict=True)):
            size = len(choice.options)
            np.testing.assert_allclose(
                kept.choices.lm[row, 1, :size], readings.ended[0, 0, q, :size], rtol=1e-3, atol=1e-5
            )


@pytest.mark.parametrize("mode", ["independent", "sequences of batches"])
def test_no_edit_is_the_floor_exactly(mode, ready, tmp_path):
    folder = edited(ready, mode, tmp_path, Method(NoEdit(), the_request))
    results = read_results(folder, COLUMNS)
    np.testing.assert_array_equal(results.choices.lm[:, 0], results.choices.lm[:, 1])
    np.testing.assert_array_equal(results.claims.lm[:, 0], results.claims.lm[:, 1])
    readers = HASE.readers(results, "none")
    measured = {name: HASE.measure(results, reader) for name, reader in readers.items()}
    for name, metric in measured["none"].items():
        np.testing.assert_array_equal(metric.numerator, measured["no edit"][name].numerator)
    cost = json.loads((folder / "cost.json").read_text(encoding="utf-8"))
    assert cost["flops"] == 0
    assert not results.cases["forward"].any()


def test_random_targets_are_nobodys_request(ready):
    _, world, _, cases = ready
    method = method_named("random-target", EditSettings(), world)
    again = method_named("random-target", EditSettings(), world)
    other = method_named("random-target", EditSettings(seed=1), world)
    told = [method.facts_told(case) for case in cases]
    assert all(len(beliefs) == 1 for beliefs in told)
    for case, [belief] in zip(cases, told, strict=True):
        s, r, o = belief.fact
        assert belief.credence == case.credence
        assert (s, r) == case.requested_fact[:2]
        assert o in world.graph.objects
        assert o not in (case.request.object, case.truth)
    assert told == [again.facts_told(case) for case in cases]
    assert told != [other.facts_told(case) for case in cases]


def test_who_is_told_the_dependences_knows_those_of_the_world(ready):
    world = ready[1]
    method = method_named("self-bayes-told", EditSettings(), world)
    assert method.editor.editor.config.dependence.given == tuple(world.graph.upstream.tolist())
    settings = identify_method("self-bayes-told", method)["settings"]
    assert "parents" not in settings, "worlds are pooled"
    untold = method_named("self-bayes", EditSettings(), world)
    assert settings == identify_method("self-bayes", untold)["settings"]


def test_the_oracle_is_told_what_the_agent_believes(ready):
    """Of the request and of half of the questions; against the cases' own gold."""
    _, world, _, cases = ready
    method = method_named("oracle", EditSettings(), world)
    for case in cases:
        told, named = method.tell_facts(case), method.editor.named
        assert told[0].fact == case.requested_fact
        groups = [told[i : i + named] for i in range(0, len(told), named)]
        pairs = [group[0].fact[:2] for group in groups]
        half = half_of_questions(hide_spot_checks(case), 0)
        assert pairs == [case.request[:2], *half]
        assert len(set(pairs)) == len(pairs)
        assert method.facts_besides_request(case) == set(half)
        believed = {belief.fact: belief.credence for belief in told if belief.credence}
        for choice in (c for c in case.choices if (c.subject, c.relation) in pairs):
            of = {o: p for (s, r, o), p in believed.items() if (s, r) == (choice.subject, choice.relation)}
            gold = dict(zip(choice.options.tolist(), choice.agent[1].tolist(), strict=True))
            both = of.keys() & gold.keys()
            assert {o: of[o] for o in both} == pytest.approx({o: gold[o] for o in both})
            assert sum(of.values()) <= 1 + 1e-9
            # Nothing likelier was left out.
            assert max((gold[o] for o in gold.keys() - of.keys()), default=0) <= min(of.values()) + 1e-9
    every = [method.tell_facts(case) for case in cases]
    # Every case of a sweep is told as many; where there are fewer, the first again, not to be believed.
    requests = build_requests(world.tokenizer, cases, every)[""]
    assert requests.facts == max(map(len, every)) > min(map(len, every))
    for k, told in enumerate(every):
        full = told + [Belief(told[0].fact, 0.0)] * (requests.facts - len(told))
        alone = make_requests(
            world.tokenizer, *zip(*((b.fact, b.weight, b.credence) for b in full), strict=True),
            *requests.widths[-1].tolist(),
        )  # fmt: skip
        mine = requests.of_edits(np.array([[k]]))
        for name, wanted in alone._asdict().items():
            np.testing.assert_array_equal(getattr(mine, name)[0], wanted[:, 0])


def test_only_retraining_is_told_how_much_evidence_it_is(ready):
    run, world, _, cases = ready
    settings = EditSettings(run=run.name, runs=run.folder.parent)
    for name in ("lora-down", "oracle", "random-target", "retrain"):
        method = method_named(name, settings, world)
        _, _, request, _ = prepared_of(sweep_of(ready).questions, method, {}).arguments_of_first(
            np.array([[0]])
        )
        weight = cases[0].request.weight if name == "retrain" else 0.0
        assert np.asarray(request.weight) == pytest.approx(np.full(request.weight.shape, weight))
        assert cases[0].request.weight > 0


def test_controls_are_told_something_else_and_asked_the_same(ready, tmp_path):
    """An edit about somebody else, by the same editor, as an edit of its own would be."""
    run, world, model, cases = ready
    others = [case.requested_fact for case in (*cases[1:], cases[0])]
    controlled = [
        case._replace(controls=(ControlRequest("somebody else", fact),))
        for case, fact in zip(cases, others, strict=True)
    ]
    shared = Sweep(run, world, model, controlled, COLUMNS, MODES["independent"])
    assert shared.edit_count == 2 * CASES
    stem, calls = control_stem("somebody else"), iter(range(1000))

    def killed(*_):
        # Between the first batches of the requests, when all controls are done.
        if next(calls) > math.ceil(CASES / 4) + 1:
            raise Killed

    with pytest.raises(Killed):
        shared.edit_cases(LORA, tmp_path, killed)
    assert stems(tmp_path) == [], "the tables come last"
    assert sum(part.startswith(stem) for part in stems(tmp_path / "parts")) == math.ceil(CASES / 4)
    shared.edit_cases(LORA, tmp_path, lambda *_: None)
    assert stems(tmp_path) == ["", stem]
    told = [case._replace(request=case.request._replace(subject=s, relation=r, object=o))
            for case, (s, r, o) in zip(cases, others, strict=True)]  # fmt: skip
    Sweep(run, world, model, told, COLUMNS, MODES["independent"]).edit_cases(
        LORA, tmp_path / "told", lambda *_: None
    )
    np.testing.assert_array_equal(after(tmp_path, stem), after(tmp_path / "told"))
    assert not np.array_equal(after(tmp_path), after(tmp_path, stem))
    inside = Sweep(run, world, model, controlled, COLUMNS, MODES["sequences"])
    assert inside.controls == [], "in sequences nothing else is told"


def flops_by_hand(model: ModelConfig, vocabulary, request, config):
    """Two for every multiplication in a product of matrices of one lora-down edit.

    A step goes forward and back to where the first adapter's gradient could begin: through activations,
    but never to the gradients of the model's own weights. Every product forward is one product back;
    adapters, and the two products inside attention, whose both factors matter, are two.
    """
    facts, answers = request.answer.shape
    tokens = request.prompt.shape[1] + answers - 1
    matrices = model.hidden * 2 * (model.heads + model.kv_heads) * model.head_width
    matrices += 3 * model.hidden * model.mlp
    attention = 2 * model.heads * model.head_width * tokens
    adapter = config.rank * (model.mlp + model.hidden)
    head = answers * model.hidden * vocabulary
    forward = model.layers * tokens * (matrices + attention + adapter) + head
    backward = model.layers * tokens * (matrices + 2 * attention + 2 * adapter) + head
    return 2 * config.steps * facts * (forward + backward)


@pytest.mark.parametrize("rank", [1, 5])
def test_flops_of_an_edit_equal_a_count_by_hand(rank, world):
    model, config = random_model(world.tokenizer.vocabulary), LoraConfig(rank=rank, steps=7)
    request = jax.tree.map(lambda x: x[0], some_requests(world, 2))
    counted = count_flops(lambda m: lora_down(config).edit(m, {}, request, jax.random.key(0))[0], model)
    expected = flops_by_hand(SMALL, model.vocabulary, request, config)
    assert counted == pytest.approx(expected, rel=0.01)


@each_mode
def test_the_cost_of_a_sweep(mode, ready, whole):
    """Tokens as the tokenizer spells the requests; arithmetic of one case as it is counted alone."""
    _, world, _, cases = ready
    table, tokenizer = tables(whole[mode])["cases.parquet"], world.tokenizer
    size = MODES[mode].batch
    longest = sweep_of(ready).questions.names.longest + 1

    def read_of(case):
        # What is read of "<s> s r o ." is all but the last place of the answer.
        answer = np.full(longest, PAD)
        name = tokenizer.entity(case.request.object)
        answer[: len(name) + 1] = [*name, -1]
        return len(tokenizer.prompt(*case.requested_fact[:2])) + np.count_nonzero(answer[:-1] != PAD)

    for k, steps, forward, backward in zip(
        *(np.array(table[name]) for name in ("case", "steps", "forward", "backward")), strict=True
    ):
        first = k // size * size
        seen = STEPS * sum(read_of(case) for case in cases[first : first + size])
        assert (steps, forward, backward) == (STEPS, seen, seen)
    cost = json.loads((whole[mode] / "cost.json").read_text(encoding="utf-8"))
    assert cost["peak_bytes"] > 0
    _, _, request, _ = prepared_of(sweep_of(ready).questions, LORA, {}).arguments_of_first(
        np.arange(size)[None]
    )
    by_hand = flops_by_hand(ready[2].config, ready[2].vocabulary, request, LORA.editor.config)
    assert cost["flops"] == pytest.approx(by_hand / size, rel=0.01)


@given(st.integers(1, 40), st.integers(1, 12), st.integers(1, 5), st.data())
def test_plans_cover_every_case_once(sequences, rounds, batch, data):
    abreast, sequence = data.draw(st.integers(1, sequences)), rounds * batch
    cases = sequences * sequence
    order = data.draw(st.just(()) | st.permutations(range(cases)))
    swept = SweepPlan(cases, sequence, batch, abreast, order)
    chunks = swept.chunks()
    assert {chunk.cases.shape for chunk in chunks} == {(abreast, sequence)}
    assert len({chunk.stem for chunk in chunks}) == len(chunks)
    parts = [chunk.cases[: chunk.sequences] for chunk in chunks]
    np.testing.assert_array_equal(np.concatenate(parts).ravel(), order or np.arange(cases))
    assert swept.rounds == rounds
    assert all(mark % batch == 0 and mark <= sequence for mark in swept.marks)
    assert (sequence in swept.marks) == (sequence > 1)


@pytest.mark.parametrize(("share", "wanted"), [(0.3, 1), (7.5, 6), (100, CASES)])
def test_no_more_edits_at_once_than_fit_as_compiled(ready, monkeypatch, share, wanted):
    """Edits may take more than their shapes show; chunks of one size then: 3 of 6 where 7 would fit."""
    shared = sweep_of(ready, ALL)
    prepared = prepared_of(shared.questions, LORA, {})
    taken, asked = prepared.bytes_compiled(CASES), []
    assert prepared.bytes_compiled(1) > 0
    monkeypatch.setattr(plan, "free_bytes", lambda: share * taken / plan.SHARE)
    monkeypatch.setattr(plan, "bytes_of_an_edit", lambda *_: 1e-6)
    monkeypatch.setattr(prepared, "bytes_compiled", lambda n: asked.append(n) or taken)
    assert make_plan(prepared, ALL, shared.shard).abreast == wanted
    assert asked[0] == CASES
    assert asked[-1] >= wanted


@pytest.fixture(scope="module")
def retrained(ready):
    """A function: the weights after training again with evidence that counts `copies` times."""
    run, world, model, _ = ready
    shared = sweep_of(ready, replace(ALL, batch_edits=1))
    for_all = method_named("retrain", EditSettings(run=run.name, runs=run.folder.parent), world)

    def train_again(copies):
        editor = replace(for_all.editor, config=replace(for_all.editor.config, copies=copies))
        told_it = for_all._replace(editor=editor)
        prepared = prepared_of(shared.questions, told_it, editor.prepare(model, shared.sample))
        _, state, requests, keys = prepared.arguments(np.array([[0], [1]]))
        return edit_batch(editor, model, state, requests, keys)

    return train_again


@pytest.mark.slow
def test_training_again_without_evidence_gives_the_same_model(ready, retrained):
    """What is left is rounding, which Muon's orthogonal steps carry along."""
    deltas, info = retrained(1e-9)
    for change, start in zip(
        jax.tree.leaves(deltas["weights"]), jax.tree.leaves(ready[2].params), strict=True
    ):
        assert np.abs(change).max() < 1e-2 * np.abs(start).max()
    told, _ = retrained(1.0)
    moved, still = (
        jnp.sqrt(sum(jnp.sum(x**2) for x in jax.tree.leaves(d["weights"]))) for d in (told, deltas)
    )
    assert moved > 10 * still
    assert info.steps.tolist() == [30, 30]


def test_retrain_makes_no_sequences(trained, capsys):
    flags = ["--cases.count", "4", "--sequential", "2"]
    assert edit.main(["retrain", *at(trained), *flags]) == 2
    assert "retrain learns everything anew" in capsys.readouterr().err
