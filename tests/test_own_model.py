"""A stranger's model: the corpus as a dataset, and scores of edits of a model of any architecture."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from corpus.text.store import open_documents
from testbed import corpus, export, score
from testbed.run.runs import Run
from testbed.run.world import load_world

WORLD = "--world.subjects 40 --world.builtin.upstream-objects 5 --world.builtin.downstream-objects 4".split()
CASES = ["--cases.count", "3"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A corpus without a model, and its export with three cases."""
    runs = tmp_path_factory.mktemp("runs")
    assert not corpus.main(["tiny", "--runs", str(runs), *WORLD])
    where = ["--runs", str(runs), "--folder", str(runs / "text"), *CASES]
    assert not export.main([*where, "--corpus", "--cases"])
    return runs


def test_the_dataset_has_every_document(runs):
    world, documents = load_world(Run(runs, "demo")), open_documents(runs / "demo" / "corpus")
    table = pq.read_table(runs / "text" / "train.parquet")
    ids = table["input_ids"].combine_chunks()
    np.testing.assert_array_equal(ids.values.to_numpy(), documents.tokens)
    np.testing.assert_array_equal(ids.offsets.to_numpy(), documents.offsets)
    first = table["text"][0].as_py()
    assert first == world.tokenizer.decode(documents.tokens[: documents.offsets[1]])
    assert "data_files: train.parquet" in (runs / "text" / "README.md").read_text()


def test_a_model_of_another_architecture_is_scored(runs, tmp_path, capsys):
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    from testbed.engine.file_exchange.door import DoorError, examine

    torch.manual_seed(0)
    tokenizer = transformers.AutoTokenizer.from_pretrained(runs / "text")
    shape = {"n_positions": 64, "n_embd": 8, "n_layer": 1, "n_head": 1}
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=len(tokenizer), **shape)).eval()

    def edit(model, tokenizer, request):
        with torch.no_grad():
            model.transformer.wte.weight[request["target_ids"][0]] += torch.linspace(-2, 2, 8)

    with pytest.raises(DoorError, match="give a model where the folder has none"):
        examine(edit, runs / "text", tmp_path / "none")
    examine(edit, runs / "text", tmp_path / "answers", model=model, report=lambda _: None)
    arguments = [str(tmp_path / "answers"), "--runs", str(runs), *CASES]
    assert not score.main([*arguments, "--name", "gpt2", "--own-model"])
    assert "nothing is recalibrated" in capsys.readouterr().out
    (folder,) = (runs / "demo" / "edits" / "hase").glob("gpt2-*")
    before = json.loads((tmp_path / "answers" / "before.jsonl").read_text().splitlines()[0])["ended"][0]
    rows = pq.read_table(folder / "choices.parquet").to_pylist()
    assert rows[0]["lm_before"] == pytest.approx(before)
    assert rows[0]["lm_after"] != pytest.approx(before)
    # Without the option answers are of a model of this run, which has none.
    assert score.main([*arguments, "--name", "gpt2"]) == 2
    assert "has no train" in capsys.readouterr().err
