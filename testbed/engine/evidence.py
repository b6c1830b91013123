"""How much evidence a request is to an agent: as much as brings its belief to the credence asked for."""

import math

import numpy as np

from bayes.interface import Agent
from bayes.request import EditRequest, RequestKind
from corpus.errors import InputError


def evidence_of(
    agent: Agent, said: EditRequest, credence: float, kind: RequestKind = "evidence"
) -> EditRequest:
    """What a request is to an agent; evidence of it is as much as the credence asks for.

    Further facts that it states get as much as if each were stated alone.

    Raises:
        InputError: a form that is evidence, taken as a correction or a change.
    """
    s, r, o = said[:3]
    if said.form == "assertion":
        weight = agent.weight_for(s, r, o, credence) if kind == "evidence" else math.inf
        further = tuple(evidence_of(agent, one, credence, kind) for one in said.further)
        return said._replace(weight=weight, kind=kind, further=further)
    if kind != "evidence":
        raise InputError(f"a request of form {said.form!r} is evidence to the agent, not {kind!r}")
    if said.form in ("denial", "disjunction"):
        among = float(agent.probability(s, r, np.array([o, *said.others]), "direct").sum())
        before = 1 - among if said.form == "denial" else among
        # Whoever is as sure already is brought halfway to 1, as by an assertion.
        said = said._replace(probability=credence if before < credence else (1 + before) / 2)
    if said.form in ("denial", "disjunction", "true", "false", "replacement"):
        said = said._replace(weight=agent.weight_for(s, r, o, credence))
    return said
