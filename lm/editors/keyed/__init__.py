"""keyed: what follows from a request, stored at the subject's own name and nowhere else (ours)."""

from dataclasses import dataclass, field

from lm.editors.count_based import CountConfig
from lm.editors.entry import Entry
from lm.editors.self_bayes import FitConfig, SelfBayesConfig

AT_THE_NAME = FitConfig(storage="keyed", learning_rate=0.06, cosine=True, steps=20)
"""A vector that the first layer reads at the subject's name, fitted in twenty steps."""


@dataclass(frozen=True)
class RequestConfig:
    """The request alone, without its consequences."""

    fit: FitConfig = field(default_factory=lambda: AT_THE_NAME)


EDITORS = (
    Entry(
        name="keyed",
        about="a vector at the subject's name, fitted to the targets of `self-bayes` (ours)",
        build="lm.editors.self_bayes.method:SelfBayes",
        config=SelfBayesConfig(fit=AT_THE_NAME, logic=False),
        search={"sharpness": (0.5, 1.0, 2.0)},
    ),
    Entry(
        name="keyed-counting",
        about="a vector at the subject's name, fitted to the targets of `count-based`",
        build="lm.editors.count_based.method:CountBased",
        config=CountConfig(fit=AT_THE_NAME),
        search={"fewest": (0.5, 1.0, 2.0), "majority": (0.2, 0.5, 1.0, 1.8), "unread": (False, True)},
    ),
    Entry(
        name="keyed-request",
        about="a vector at the subject's name, fitted to the request alone",
        build="lm.editors.keyed.method:RequestAlone",
        config=RequestConfig(),
    ),
)
