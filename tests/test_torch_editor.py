"""Editors in PyTorch inside the engine: twins in JAX, sequences, and what is refused."""

from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pyarrow.parquet as pq
import pytest

from corpus.errors import InputError
from corpus.text.tokenizer import SEP, entity_tokenizer, train_bpe
from lm.delta import empty_carry
from lm.editors.fitting import request_loss
from lm.editors.interface import edit_batch
from testbed import edit, tune
from testbed.advice import ask_options
from testbed.engine.catalogue import edits_torch_models, entry_named
from testbed.engine.checks import errors_attributed_to, prepare_editor
from testbed.engine.file_exchange.requests import describe_request, read_request
from testbed.engine.prepared_editor import next_edits
from testbed.engine.tuning import method_named
from testbed.engine.versions import identify_method
from testbed.launch import own_configurations
from testbed.run.runs import Run
from testbed.settings import EditSettings
from tests.runs import at, copied, killed_after, python
from tests.test_door import Forgetful, SaysItsSide, leak_state, read_last_column, shorten_floats
from tests.worlds import make_world

OWN = "experiments.my_torch_editor"
RATE = 0.5


def descend(model, tokenizer, request):
    """One step down the gradient of the last down-projection."""
    import torch

    prompt, target = request["prompt_ids"], request["target_ids"]
    ids, labels = torch.tensor([prompt + target]), torch.tensor([[-100] * len(prompt) + target])
    weight = model.model.layers[-1].mlp.down_proj.weight
    model(input_ids=ids, labels=labels).loss.backward()
    with torch.no_grad():
        weight -= RATE * weight.grad


def double_head(model, tokenizer, request):
    model.lm_head.weight.data *= 2.0


def add_noise(model, tokenizer, request):
    import torch

    model.lm_head.weight.data += torch.randn_like(model.lm_head.weight)


def hook_layer(model, tokenizer, request):
    model.model.layers[0].mlp.register_forward_hook(lambda module, given, out: 2 * out)


def wrap_model(model, tokenizer, request):
    import torch

    class Wrapper(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = model

    return Wrapper()


def return_weights(model, tokenizer, request):
    return model, {}


def raise_error(model, tokenizer, request):
    return model.nothing


@pytest.fixture
def editor_of(toy):
    """A function or object as an editor of the toy."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from testbed.engine.torch_editor import build_method

    return lambda editor, **options: build_method(editor, EditSettings(**options), toy.world).editor


def test_the_edit_is_what_its_twin_in_jax_makes(toy, editor_of):
    deltas, info = edit_batch(editor_of(descend), toy.model, {}, toy.batch, toy.keys)

    def change_of(request):
        weight = toy.model.params["layers"]["mlp"]["down"]["kernel"]

        def loss_of(change):
            delta = {
                "weights": {
                    "layers": {"mlp": {"down": {"kernel": jnp.zeros_like(weight).at[-1].set(change)}}}
                }
            }
            return request_loss(toy.model.with_delta(delta), request)

        return -RATE * jax.grad(loss_of)(jnp.zeros_like(weight[-1]))

    changes = jax.vmap(change_of)(toy.batch)
    down = deltas["weights"]["layers"]["mlp"]["down"]["kernel"]
    assert float(jnp.abs(changes).max()) > 1e-3
    np.testing.assert_allclose(down[:, -1], changes, atol=2e-6)
    others = replace_leaf(deltas["weights"], down.at[:, -1].set(0.0))
    assert not any(leaf.any() for leaf in jax.tree.leaves(others))
    assert info.loss.shape == (len(toy.keys), 1)


def replace_leaf(weights, down):
    layers = weights["layers"]
    return weights | {"layers": layers | {"mlp": layers["mlp"] | {"down": {"kernel": down}}}}


def test_edits_of_a_sequence_build_on_each_other(toy, editor_of):
    """Twice a doubling is a fourfold; and each sequence carries its own."""
    editor, model = editor_of(double_head), toy.model
    single = jax.tree.map(lambda x: x[0], edit_batch(editor, model, {}, toy.batch, toy.keys)[0])
    blank = empty_carry(single, model.vocabulary, 2)
    carried = jax.tree.map(lambda x: jnp.stack([x, x]), blank)
    batch = jax.tree.map(lambda x: x[:2], toy.batch)
    for index in range(2):
        carried, _ = next_edits(editor, model, carried, {}, batch, toy.keys[:2], np.int32(index))
    head = model.params["head"]["kernel"]
    for change in carried["weights"]["head"]["kernel"]:
        np.testing.assert_allclose(change, 3 * head, rtol=1e-6)


def test_an_edit_depends_on_its_key_and_on_no_other_edit(toy, editor_of):
    editor = editor_of(add_noise)
    order = np.array([2, 0, 1])
    deltas, _ = edit_batch(editor, toy.model, {}, toy.batch, toy.keys)
    shuffled, _ = edit_batch(
        editor, toy.model, {}, jax.tree.map(lambda x: x[order], toy.batch), toy.keys[order]
    )
    noise, again = (x["weights"]["head"]["kernel"] for x in (deltas, shuffled))
    np.testing.assert_array_equal(noise[order], again)
    assert not np.allclose(noise[0], noise[1])


def test_several_facts_of_one_edit_are_a_list(toy, editor_of):
    sizes = []
    editor = editor_of(lambda model, tokenizer, request: sizes.append([one["subject"] for one in request]))
    jax.block_until_ready(edit_batch(editor, toy.model, {}, toy.pairs, toy.keys))
    assert {len(names) for names in sizes} == {2}


@pytest.mark.parametrize(
    ("user_editor", "message"),
    [
        (hook_layer, "answers otherwise than its weights do.*testbed.export --cases"),
        (wrap_model, "other weights than the model had.*merge_and_unload.*testbed.export --cases"),
        (shorten_floats, "bfloat16; edit in float32"),
        (return_weights, "returned tuple; return the model"),
        (raise_error, r"raise_error, in prepare: AttributeError.*test_torch_editor.py, line"),
        (leak_state, r"stays from edit to edit; give the editor reset\(\)"),
        (read_last_column, "the side on which the tokenizer pads.*PADDING"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_cannot_be_taken_at_its_weights_is_refused(toy, editor_of, user_editor, message):
    with pytest.raises(InputError, match=f"(?s){message}"):
        prepare_editor(editor_of(user_editor), toy.model, toy.sample)


@pytest.mark.parametrize("user_editor", [descend, add_noise, Forgetful(), SaysItsSide()], ids=type)
def test_what_can_be_is_not(toy, editor_of, user_editor):
    assert prepare_editor(editor_of(user_editor), toy.model, toy.sample) == {}


def test_editors_of_collections_can_be_wrapped(toy, editor_of):
    """The example's edit makes its request likely, and only its one weight moves."""
    from experiments.my_wrapped_editor import WrappedEditor

    editor = editor_of(WrappedEditor(weight="model.layers.3.mlp.down_proj.weight"))
    assert prepare_editor(editor, toy.model, toy.sample) == {}
    first = jax.tree.map(lambda x: x[:1], toy.batch)
    deltas, _ = edit_batch(editor, toy.model, {}, first, toy.keys[:1])
    delta, request = (jax.tree.map(lambda x: x[0], tree) for tree in (deltas, first))
    assert request_loss(toy.model.with_delta(delta), request) < 0.2 * request_loss(toy.model, request)
    down = delta["weights"]["layers"]["mlp"]["down"]["kernel"]
    assert down[3].any()
    assert not any(
        leaf.any() for leaf in jax.tree.leaves(replace_leaf(delta["weights"], down.at[3].set(0.0)))
    )


def test_the_padding_side_is_the_one_that_an_editor_names(toy, editor_of):
    sides = []

    class Watching:
        PADDING = "right"

        def edit(self, model, tokenizer, request):
            sides.append(tokenizer.padding_side)

    prepare_editor(editor_of(Watching()), toy.model, toy.sample)
    assert set(sides) == {"right"}


def test_errors_inside_compiled_programs_keep_their_place(toy, editor_of):
    """Those of sequences, in which others would build on a failed edit."""
    editor = editor_of(raise_error, sequential=2)
    with pytest.raises(InputError, match=r"in edit: AttributeError.*test_torch_editor.py, line"), \
            errors_attributed_to(editor, "edit"):  # fmt: skip
        jax.block_until_ready(edit_batch(editor, toy.model, {}, toy.batch, toy.keys))


def test_an_edit_that_fails_alone_has_no_numbers_and_keeps_its_cause(toy, editor_of):
    """The others are as by an editor that never fails."""
    editor = editor_of(add_noise)
    failing = np.asarray(jax.tree.map(lambda x: x[1], toy.batch).prompt)

    def fail_once(model, tokenizer, request):
        add_noise(model, tokenizer, request)
        if request["prompt_ids"] == failing[0][failing[0] > 0].tolist():
            raise ValueError(f"no {request['subject']}")

    fragile = editor_of(fail_once)
    expected, found = (
        edit_batch(one, toy.model, {}, toy.batch, toy.keys)[0]["weights"]["head"]["kernel"]
        for one in (editor, fragile)
    )
    failed = [fragile.cause_of(toy.batch._make(x[i] for x in toy.batch)) for i in range(len(toy.keys))]
    assert failed[1].startswith("ValueError: no ")
    for i, cause in enumerate(failed):
        np.testing.assert_array_equal(found[i], np.nan if cause else expected[i])


def doubt_some(model, tokenizer, request):
    """Fails where nobody is sure."""
    add_noise(model, tokenizer, request)
    if request["credence"] < 0.9:
        raise ValueError(f"no {request['subject']}")


def test_in_a_process_of_its_own_edits_and_failures_are_the_same(toy, editor_of):
    """What is named works there, what Python hands over works here."""
    there = method_named("tests.test_torch_editor:doubt_some", EditSettings(), toy.world).editor
    credence = np.array(toy.batch.credence)
    credence[1] = 0.5
    batch, outcomes = toy.batch._replace(credence=credence), []
    for editor in (editor_of(doubt_some), there):
        state = prepare_editor(editor, toy.model, toy.sample)
        deltas, _ = jax.block_until_ready(edit_batch(editor, toy.model, state, batch, toy.keys))
        causes = [editor.cause_of(batch._make(x[i] for x in batch)) for i in range(len(toy.keys))]
        outcomes.append((deltas, causes))
    (here, causes), (deltas, told) = outcomes
    assert causes == told
    assert causes[1].startswith("ValueError: no ")
    assert np.isfinite(here["weights"]["head"]["kernel"][0]).all()
    jax.tree.map(np.testing.assert_array_equal, here, deltas)


def byte_pairs(graph):
    return train_bpe(graph, np.ones(len(graph.entities) + len(graph.relations), int), 300)


@pytest.mark.parametrize("tokenizer", [entity_tokenizer, byte_pairs])
def test_a_request_says_in_text_what_its_ids_say(tokenizer):
    world = make_world(tokenizer=tokenizer)
    language = world.tokenizer.language
    s, r = int(world.graph.subject[3]), int(world.graph.relation[3])
    o = int(world.graph.objects[5])
    told = describe_request(world, (s, r, o), 0.9)
    assert told["sentence"] == f"{told['prompt']} {told['target_new']}."
    assert told["target_stopped"] == told["target_new"] + "."
    assert told["requested_rewrite"]["prompt"].format(told["subject"]) == told["prompt"]
    assert told["ground_truth"] == language.entities[world.generative.truth[3]]
    ids = told["prompt_ids"] + told["target_ids"]
    assert world.tokenizer.decode(ids) == told["sentence"]
    assert ids[-1] == SEP
    padded = np.array([0, 0, *told["prompt_ids"]]), np.array([*told["target_ids"], 0])
    assert read_request(world, *padded, 0.9) == told


def test_functions_and_classes_are_found_and_offer_their_fields():
    pytest.importorskip("transformers")
    by_class, by_function = (f"{OWN}:{name}" for name in ("MyTorchEditor", "edit_last_layer"))
    configs = own_configurations([by_class, by_function])
    assert configs["my-torch-editor"].steps == 20
    assert list(configs) == ["my-torch-editor"], "a function has no options"
    of_edits = {"agent": {"name": "paper"}, "evaluation": {}, "cases": {"credence": 0.95}}
    options = ask_options(Run(Path("runs"), "x"), by_function, of_edits | {"method": {"settings": {}}})
    assert options == f"--run x --editor {by_function}"
    assert entry_named(by_class).search == {"learning_rate": (0.1, 1.0, 10.0)}


def test_what_is_no_editor_in_pytorch_is_told_without_it():
    assert not edits_torch_models(entry_named("experiments.my_editor:MyEditor").config)
    with pytest.raises(InputError, match="no class my_function"):
        entry_named("tests.test_torch_editor:my_function")


def test_results_depend_on_the_users_code_and_settings(toy):
    pytest.importorskip("transformers")
    settings = EditSettings()
    name = f"{OWN}:MyTorchEditor"
    identity = identify_method(name, method_named(name, settings, toy.world))
    assert identity["editor"] == name
    assert identity["settings"] == {"learning_rate": 1e-2, "steps": 20}
    changed = replace(entry_named(name).config, steps=3)
    other = identify_method(
        name, method_named(name, replace(settings, configs={"my-torch-editor": changed}), toy.world)
    )
    assert other["settings"]["steps"] == 3
    of_function = f"{OWN}:edit_last_layer"
    function = identify_method(of_function, method_named(of_function, settings, toy.world))
    assert function["settings"] == {}
    assert function["version"] == identity["version"]


@pytest.mark.slow
@pytest.mark.parametrize("mode", [[], ["--sequential", "4"]], ids=["independent", "sequence"])
def test_killed_edits_go_on_as_if_nothing_had_been(trained, tmp_path, mode):
    pytest.importorskip("transformers")
    arguments = [f"{OWN}:MyTorchEditor", "--cases.count", "16", "--batch-edits", "2", *mode]
    whole, killed = (copied(trained, tmp_path / name) for name in ("whole", "killed"))
    assert edit.main([*at(whole), *arguments]) == 0
    process = python("testbed.edit", *at(killed), *arguments)
    killed_after(process, lambda: any(killed.glob("x/edits/hase/*/parts/*-cases.parquet")), limit=300)
    assert edit.main([*at(killed), *arguments]) == 0
    expected, found = (choices_of(runs) for runs in (whole, killed))
    assert found.equals(expected)


def choices_of(runs):
    (path,) = runs.glob("x/edits/hase/*/choices.parquet")
    return pq.read_table(path)


@pytest.mark.slow
def test_options_are_tuned_as_for_any_editor(trained, capsys):
    pytest.importorskip("transformers")
    name = f"{OWN}:MyTorchEditor"
    assert (
        tune.main([*at(trained), name, "--trials", "2", "--cases.count", "6", "--my-torch-editor.steps", "3"])
        == 0
    )
    assert "learning_rate" in capsys.readouterr().out
