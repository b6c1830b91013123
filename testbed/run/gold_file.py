"""Gold worked out elsewhere: a table of beliefs before and after requests, as an agent that looks them up.

A row is one object of one question under one request. Its columns are request_subject, request_relation and
request_object; subject, relation and object; before and after, the probabilities of the object. Names are
those of the run's world. What a question does not list is shared by the other candidates of its relation.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bayes.derived import DerivedAgent
from bayes.interface import Belief, Distribution, Exactness
from bayes.request import EditRequest, RequestKind
from corpus.config import ExactConfig
from corpus.errors import InputError
from corpus.graph import KnowledgeGraph
from corpus.worlds.own import OwnWorld

COLUMNS = ("request_subject", "request_relation", "request_object", "subject", "relation", "object")
TIMES = ("before", "after")
Fact = tuple[int, int]
Triple = tuple[int, int, int]


class Beliefs(NamedTuple):
    """Of one request, the probabilities of the objects that each question lists, before and after it."""

    before: dict[Fact, dict[int, float]]
    after: dict[Fact, dict[int, float]]


@dataclass(frozen=True, eq=False)
class GoldFileAgent(DerivedAgent):
    """Looks beliefs up in a table; it takes the table's requests and no others.

    Attributes:
        listed: the table, by request.
        told: the request that it was told last, if any.
    """

    listed: Mapping[Triple, Beliefs] = field(default_factory=dict)
    told: Triple | None = None

    @property
    def exactness(self) -> Exactness:
        """Whoever made the table knows."""
        return Exactness("approximation", None, "beliefs were read from a file")

    @property
    def requests(self) -> list[EditRequest]:
        """The requests of the table, in its order: the only ones that can be judged by it."""
        return [EditRequest(*triple) for triple in self.listed]

    def accepts(self, subject: int, relation: int, kind: RequestKind) -> bool:
        """Whether the table has a request about the fact."""
        return kind == "evidence" and any(triple[:2] == (subject, relation) for triple in self.listed)

    def with_edit(self, request: EditRequest) -> "GoldFileAgent":
        """The agent after a request of the table.

        Raises:
            InputError: it has no such request.
        """
        if request[:3] not in self.listed:
            names = self.graph.entities[request.subject], self.graph.relations[request.relation]
            raise InputError(f"the gold file has no request {' '.join(names)!r} of this object")
        return replace(self, told=request[:3])

    def weight_for(self, subject: int, relation: int, target: int, credence: float = 0.95) -> float:  # noqa: ARG002
        """1: the table knows of one strength only."""
        return 1.0

    def relate_facts(self, subject: int, relation: int) -> np.ndarray:  # noqa: ARG002
        """The facts of which the table asks under the request that it was told, or under any."""
        tables = self.listed.values() if self.told is None else [self.listed[self.told]]
        return np.unique([self.find_fact(*pair) for of in tables for pair in of.before])

    def predict(self, subject: int, relation: int, belief: Belief = "best") -> Distribution:  # noqa: ARG002
        """The table's probabilities; the rest is shared by the objects that it does not list.

        Raises:
            InputError: it does not ask of the fact under the request that it was told.
        """
        pair = subject, relation
        tables = [of.before for of in self.listed.values()]
        if self.told is not None:
            tables = [self.listed[self.told].after]
        of_fact = next((table[pair] for table in tables if pair in table), None)
        if of_fact is None:
            names = self.graph.entities[subject], self.graph.relations[relation]
            raise InputError(f"the gold file says nothing of {' '.join(names)!r} here; add its rows")
        candidates = self.graph.candidates_of(relation)
        rest = max(1 - sum(of_fact.values()), 0.0) / max(len(candidates) - len(of_fact), 1)
        return self.make_distribution(relation, np.array([of_fact.get(o, rest) for o in candidates.tolist()]))


def read_gold_file(path: Path, graph: KnowledgeGraph) -> GoldFileAgent:
    """The agent of a table: Parquet, or CSV by any other name.

    Raises:
        InputError: no such file, a missing column, a name that the world does not have, an object that is no
            candidate, no probabilities, or beliefs before requests that differ.
    """
    entities = {name: i for i, name in enumerate(graph.entities)}
    relations = {name: i for i, name in enumerate(graph.relations)}
    listed: dict[Triple, Beliefs] = {}
    for number, row in enumerate(_read_rows(path), start=1):
        for column in COLUMNS:
            if str(row[column]) not in (relations if "relation" in column else entities):
                raise InputError(f"{path}, row {number}: the world has no {column} {row[column]!r}")
        s1, r1, o1, s, r, o = (
            (relations if "relation" in column else entities)[str(row[column])] for column in COLUMNS
        )
        for subject, relation, obj in ((s1, r1, o1), (s, r, o)):
            if graph.find(subject, relation) < 0 or obj not in graph.candidates_of(relation):
                names = graph.entities[subject], graph.relations[relation], graph.entities[obj]
                raise InputError(
                    f"{path}, row {number}: {' '.join(names)!r} is no possible fact of the world"
                )
        beliefs = listed.setdefault((s1, r1, o1), Beliefs({}, {}))
        for table, time in zip(beliefs, TIMES, strict=True):
            probability = float(row[time])
            if not 0 <= probability <= 1:
                raise InputError(f"{path}, row {number}: {time} is {row[time]!r}, which is no probability")
            table.setdefault((s, r), {})[o] = probability
    _check_beliefs(path, graph, listed)
    return GoldFileAgent(OwnWorld(0, 0), graph, ExactConfig(), {}, listed)


def _check_beliefs(path: Path, graph: KnowledgeGraph, listed: Mapping[Triple, Beliefs]) -> None:
    known: dict[Fact, dict[int, float]] = {}
    for triple, beliefs in listed.items():
        name = " ".join([graph.entities[triple[0]], graph.relations[triple[1]], graph.entities[triple[2]]])
        if triple[:2] not in beliefs.before:
            raise InputError(f"{path}: add rows that ask of the requested fact itself under {name!r}")
        for table in beliefs:
            for pair, of_fact in table.items():
                if sum(of_fact.values()) > 1 + 1e-6:
                    asked = f"{graph.entities[pair[0]]} {graph.relations[pair[1]]}"
                    raise InputError(
                        f"{path}: under {name!r} the probabilities of {asked!r} sum to more than 1"
                    )
        for pair, of_fact in beliefs.before.items():
            if known.setdefault(pair, of_fact) != of_fact:
                asked = f"{graph.entities[pair[0]]} {graph.relations[pair[1]]}"
                raise InputError(f"{path}: {asked!r} is believed differently before different requests")


def _read_rows(path: Path) -> list[dict[str, Any]]:
    import pyarrow as pa
    from pyarrow import csv, parquet

    if not path.is_file():
        raise InputError(f"{path}: there is no such file of gold")
    try:
        table = parquet.read_table(path) if path.suffix == ".parquet" else csv.read_csv(path)
    except pa.ArrowInvalid as error:
        raise InputError(f"{path} cannot be read as a table: {error}") from None
    missing = [name for name in (*COLUMNS, *TIMES) if name not in table.column_names]
    if missing:
        raise InputError(f"{path} has no column {missing[0]!r}; it needs {', '.join((*COLUMNS, *TIMES))}")
    return table.to_pylist()
