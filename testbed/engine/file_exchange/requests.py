"""A request as PyTorch editors know it: text in the keys of EasyEdit and of CounterFact, and token ids."""

from typing import Any

import numpy as np

from corpus.text.tokenizer import PAD, SEP
from testbed.run.world import World


def describe_request(world: World, fact: tuple[int, int, int], credence: float) -> dict[str, Any]:
    """A fact that an editor is told, as plain data.

    Args:
        credence: how sure whoever edits is of it.

    Returns:
        prompt, subject, target_new, ground_truth: as in EasyEdit; the last is what the world says, None
            where it says nothing.
        requested_rewrite: the same in CounterFact's form, "{}" for the subject.
        target_stopped: the target with the stop that ends its sentence; sentence: prompt and that.
        prompt_ids: begin with `<s>`; target_ids: of the target and its stop. One after the other they are
            what the model reads of the sentence, whatever a tokenizer makes of pieces of its text.
        credence: as given.
    """
    tokenizer, (s, r, o) = world.tokenizer, fact
    names = tokenizer.language.entities
    relation, subject, target = tokenizer.language.relations[r], names[s], names[o]
    place = int(world.graph.find(s, r))
    truth = names[world.generative.truth[place]] if place >= 0 else None
    prompt = f"{subject} {relation}"
    return {
        "prompt": prompt,
        "subject": subject,
        "target_new": target,
        "ground_truth": truth,
        "requested_rewrite": {
            "prompt": f"{{}} {relation}",
            "relation_id": relation,
            "subject": subject,
            "target_new": {"str": target},
            "target_true": {"str": truth},
        },
        "target_stopped": f"{target}.",
        "sentence": f"{prompt} {target}.",
        "prompt_ids": tokenizer.prompt(s, r).tolist(),
        "target_ids": [*tokenizer.entity(o).tolist(), SEP],
        "credence": credence,
    }


def read_request(world: World, prompt: np.ndarray, answer: np.ndarray, credence: float) -> dict[str, Any]:
    """The same of the arrays that an editor is given (see `lm.editors.interface.Request`)."""
    language, tokenizer = world.tokenizer.language, world.tokenizer
    # Both begin or end in a token of their own: the start of a document, the end of a sentence.
    s, r = language.parse_prompt(tokenizer.decode(prompt[prompt != PAD][1:]))
    o = language.entity(tokenizer.decode(answer[answer != PAD][:-1]))
    return describe_request(world, (s, r, o), credence)
