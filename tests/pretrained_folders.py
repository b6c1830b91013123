"""Folders as a hub has them, for tests of pretrained models: a toy with a byte-level tokenizer of its own."""

import json

import jax
import jax.numpy as jnp
import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from corpus.text.pretrained import Pretrained
from lm.config import ModelConfig
from lm.huggingface import export_model
from lm.language_model import LanguageModel
from lm.model import parameter_shapes

SHAPE = ModelConfig(hidden=24, mlp=32, layers=2, heads=4, kv_heads=2, head_width=6)
SPECIALS = ("<|end|>", "<|start|>", "<|mask|>", "<|tool|>")
GRAMMAR = '" not and or is true false imagine revise about according to'


def train_tokenizer(names, splits_words=True, size=700):
    """Byte pairs of a text in which every word of some names, and of the grammar, often stands."""
    out = Tokenizer(models.BPE())
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    if splits_words:
        out.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        text = [f" {word}" for word in GRAMMAR.split()] * 50 + [" .", ".\n"] * 9 + [f" {n}" for n in names]
    else:
        out.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        text = [f" {word}" for word in GRAMMAR.split()] * 50 + [f" {n}" for n in names] * 50
    out.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=alphabet, show_progress=False, special_tokens=list(SPECIALS)
    )
    out.train_from_iterator(text, trainer)
    return out


def write_folder(folder, tokenizer, config=SHAPE, seed=0, more=3):
    """Config, weights and tokenizer, with `more` rows of the embedding than there are tokens."""
    vocabulary = tokenizer.get_vocab_size() + more
    rng = np.random.default_rng(seed)
    shapes = parameter_shapes(config, vocabulary)
    params = jax.tree.map(lambda x: jnp.float32(1 + 0.3 * rng.normal(size=x.shape)), shapes)
    export_model(LanguageModel(config, params), folder, {"tokenizer.json": json.loads(tokenizer.to_str())})
    path = folder / "config.json"
    content = json.loads(path.read_text()) | {"bos_token_id": 1, "eos_token_id": 0, "pad_token_id": None}
    path.write_text(json.dumps(content))
    return folder


def borrow_tokenizer(graph):
    """A tokenizer as a pretrained model's folder would have it, without the model."""
    theirs = train_tokenizer(names_of(graph))
    specials = [theirs.token_to_id(token) for token in ("<|mask|>", *SPECIALS[1::-1], ".", "<|tool|>")]
    return Pretrained(json.loads(theirs.to_str()), tuple(specials), theirs.get_vocab_size())


def names_of(graph):
    return [*graph.entities, *graph.relations]
