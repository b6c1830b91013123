"""The evaluation of Hase et al. 2024 (§6): does an edited model agree with the agent, and with itself?

Half of the requests contradict what the corpus says. A request (s1, r1, o*) is asked about as s1r1; s1r2 is
what depends on it (or else another relation of s1), s1r0 what it depends on, s1rx an independent relation.
Of s1 are asked, too, whatever else depends on the request, however far below it, and whatever depends on the
same fact as the request does. Where r1 has an inverse, that is asked of the new object and of the old one; of
a set, its other objects, and as REPLACED the one that the new object replaces. r1 and r2 are asked of three
other subjects, who share s1's old object, the new one, or are drawn at random. Spot checks are facts drawn
besides by a stream of their own, of which no editor and no control is told: damage is measured on them. Of
the claims (`testbed.evaluations.dutch_book`) A is the request, B a statement about somebody else (design.md
6). Importing this loads no NumPy and no JAX, so that options are read quickly.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import tyro

from testbed.evaluations.held_out import HELD_OUT_FACETS
from testbed.evaluations.interface import Evaluation
from testbed.run.settings import RequestName

REQUEST, CHILD, PARENT, INDEPENDENT = "s1r1", "s1r2", "s1r0", "s1rx"
OTHER_CHILD, GRANDCHILD, SIBLING, OTHER_SIDE = "other child", "grandchild", "sibling", "other side"
SAME_SET, REPLACED = "same set", "replaced"
OTHERS = ("old.r1", "old.r2", "new.r1", "new.r2", "random.r1", "random.r2")
KIN = (CHILD, OTHER_CHILD, GRANDCHILD, PARENT, SIBLING, OTHER_SIDE)
"""What the agent may move besides the request, of the same subject, and the other side of a request about a
relation with an inverse. A grandchild depends on the request through another fact or several; a case may have
many of one role, but for s1r2 and s1r0."""
OF_OTHERS = ("spot.r1", "spot.effect", "spot.any")
OF_SUBJECT = "spot.own"
SPOT_CHECKS = (*OF_OTHERS, OF_SUBJECT)
"""Facts drawn at random among those that nothing else in the case asks or says: of other subjects the edited
relation, what depends on it, any relation; of the subject whatever else it has."""
CONTRADICTS = "contradicts the truth"
"""The requests that headlines are over: who repeats what is true has nothing to change."""
CONTROL = "the same of somebody else"
"""The requested object, said of another subject: it bears on nothing that the request bears on."""
ROLES = (
    REQUEST, CHILD, PARENT, INDEPENDENT, *OTHERS, *KIN[1:3], SIBLING, OTHER_SIDE, SAME_SET, REPLACED,
    *SPOT_CHECKS,
)  # fmt: skip


@dataclass(frozen=True)
class Hase(Evaluation):
    """Which edits are requested, and which questions are put."""

    sampler: Literal["stratified", "published"] = "stratified"
    """stratified: equal numbers for each class of support (subjects that have the new object); published: as
    in Hase et al."""
    request: RequestName = "evidence"
    """How the agent takes a request. evidence: n' further statements; correction: a sentence that settles the
    fact; do: the world changed. Only the exact agent knows the last two."""
    requests: Annotated[tuple[str, ...], tyro.conf.arg(name="requests", prefix_name=False)] = ()
    """Your own requests in place of drawn ones: a file with one "subject relation = object" a line, such as
    "Ada Marlow educated at = Quintal College", or with the three in columns between tabs. Texts with " = "
    are requests themselves. Of a set, "Ann speaks = French, not German" replaces an object."""
    edits: Literal["any", "upstream", "downstream"] = "any"
    """Which facts are edited. upstream: facts on which another one depends, to see whether that is updated;
    downstream: facts that depend on another one, to see whether that one is revised; any: both."""
    reinforce: float = 0.5
    """Share of requests that repeat the truth; the others contradict it."""
    changing: bool = False
    """Keep only requests that change the agent's answer about a dependent fact."""
    candidates: int = 24
    """Objects of each question whose probabilities are recorded; all others are one remainder."""
    spot_checks: int = 2
    """Spot checks of each kind: random facts in every case that no editor is given. Damage is measured on
    them."""
    controls: bool = False
    """Also make each edit about another subject, and ask the same questions: a control. Takes twice as
    long."""

    package: ClassVar[str] = __name__
    version: ClassVar[int] = 1
    headline_subset: ClassVar[str] = CONTRADICTS
    can_be_halved: ClassVar[bool] = True
    facets: ClassVar = {
        "reinforces": bool,
        "child": bool,
        "changes": bool,
        "support_new": int,
        "support_old": int,
        "stratum": str,
    } | HELD_OUT_FACETS
    """Columns of cases: whether the request repeats the truth; whether s1r2 depends on r1; whether the
    agent's answer to s1r2 changes; how many subjects have the requested, the old object as truth; how often
    s1r2 was stated; and what was held out."""

    def __post_init__(self) -> None:
        if self.candidates < 8:
            raise ValueError(f"candidates must be at least 8; it is {self.candidates}")
        if self.spot_checks < 1:
            raise ValueError(f"spot_checks must be at least 1; it is {self.spot_checks}")
        if self.changing and self.edits == "downstream":
            raise ValueError("changing is about what depends on a request: leave it out, or edits downstream")
        # The requests, not the name of their file, are what results depend on.
        object.__setattr__(self, "requests", tuple(dict.fromkeys(read_requests(self.requests))))
        if not 0 <= self.reinforce <= 1:
            raise ValueError(f"reinforce is a share in [0, 1]; it is {self.reinforce}")

    @property
    def request_origin(self) -> str:
        """The sampler, on which the order of editors depends; nothing where requests are the user's."""
        return "" if self.requests else f", drawn by the {self.sampler} sampler"

    @property
    def interpretations(self) -> tuple[str, ...]:
        """What the request is to the agent."""
        return (self.request,)


def read_requests(texts: Iterable[str]) -> Iterator[str]:
    """Requests as "subject relation = object", of which some are texts and some the lines of files.

    Raises:
        ValueError: no such file, or a line that is no request, with its number.
    """
    for text in texts:
        if " = " in text:
            yield text
            continue
        path = Path(text).expanduser()
        if not path.is_file():
            raise ValueError(
                f"requests: there is no file {path}, and {text!r} is no 'subject relation = object'"
            )
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError:
            raise ValueError(f"requests: {path} is not UTF-8; save it as UTF-8") from None
        for number, line in enumerate(lines, start=1):
            cells = [" ".join(cell.split()) for cell in line.split("\t")]
            request = "{} {} = {}".format(*cells) if len(cells) == 3 else cells[0]
            if not all(cells) or len(cells) not in (1, 3) or " = " not in request:
                if not any(cells):
                    continue
                where = f"requests: {path}, line {number}"
                raise ValueError(f"{where}: expected 'subject relation = object', got {line!r:.120}")
            yield request


EVALUATION = Hase
