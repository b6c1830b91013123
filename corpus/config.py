"""What a world is made from. Plain dataclasses, so that --help needs neither NumPy nor JAX."""

import math
from dataclasses import dataclass, field, fields
from typing import Literal

MOST_EACH, MOST_PLACES, MOST_ZIPF = 1000, 5000, 20
MOST_SOURCES = 8
MOST_SUBJECTS, MOST_OBJECTS, MOST_REPEATS = 10_000_000, 1_000_000, 1000
HOURS = "more would take hours to write"
Labels = Literal["coin", "proportion"]
SOURCES = ("builtin", "wikidata", "tsv", "taxonomy", "coupled", "people", "chain")
KINDS = ("types", "joint", "roles", "colleges", "press")
"""Sources that are worlds of a kind of their own, as a user's are (`corpus.worlds.own`)."""
_CHOOSING = "pairs dependences relations relation_count min_pair_subjects drop_relations"
USED_BY: dict[str, tuple[str, ...]] = {
    **{name: (name,) for name in ("taxonomy", "coupled", "people", "chain")},
    **dict.fromkeys([*_CHOOSING.split(), "drop_entities"], ("wikidata", "tsv")),
    **dict.fromkeys(("max_lines", "names"), ("wikidata", "coupled", "people")),
    **dict.fromkeys(("columns", "labels", "split"), ("tsv",)),
    "min_relations": ("builtin", "wikidata", "tsv"),
    "reversals": ("wikidata", "tsv"),
    "several": ("wikidata", "tsv", "coupled", "people"),
    "path": ("wikidata", "tsv", "taxonomy", "coupled", "people"),
}
"""Options of a world that only some sources read."""


def _check_shares(settings: object, *names: str) -> None:
    for name in names:
        if not 0 <= getattr(settings, name) <= 1:
            raise ValueError(f"{name} is a share, in [0, 1]; it is {getattr(settings, name)}")


@dataclass(frozen=True)
class TaxonomyWorld:
    """Dials of a generated taxonomy; the last one is for TAXI's tables, too."""

    superordinates: int = 6
    """Kinds of things, such as animal. Each has categories and properties of its own."""
    categories: int = 7
    """Categories of each superordinate, such as dog."""
    members: int = 4
    """Members of each category; half of them typical, the others rare."""
    properties: int = 9
    """Properties of each superordinate."""
    has: float = 0.6
    """Probability that a category has a property."""
    shares: float = 0.5
    """Probability that the value of such a property is another category's, not one of its own."""
    alternatives: int = 4
    """Least number of values that a property can have."""
    categories_speak: bool = False
    """Let the corpus state facts of categories, too: a dog is a dog, and barks."""

    def __post_init__(self) -> None:
        if min(self.superordinates, self.members, self.properties) < 1:
            raise ValueError("superordinates, members and properties must be positive")
        if self.categories < 2 or self.alternatives < 2:
            raise ValueError("categories and alternatives must be at least 2")
        if not 0 < self.has <= 1 or not 0 <= self.shares <= 1:
            raise ValueError("has is a probability in (0, 1], shares one in [0, 1]")


@dataclass(frozen=True)
class CoupledWorld:
    """Dials of a world of coupled pairs: towers and parks, writers and books, people and spouses.

    Real couples know `objects`, `unstated` and `unknown`.
    """

    objects: int = 8
    """Objects of each relation; for real couples, the commonest of each coupled relation. Fewer objects have
    more support each."""
    strength: float = 1.0
    """Probability that the coupled entity has the same object; otherwise it has any other."""
    dependence: float = 0.9
    """Probability that a dependent fact has the object that its cause favours."""
    unstated: float = 0.25
    """Share of pairs whose coupled fact the corpus never states, nor anything that depends on it."""
    unknown: float = 0.15
    """Share of pairs whose first fact, on which the coupled one depends, the corpus never states, nor
    anything below it."""

    def __post_init__(self) -> None:
        if self.objects < 3:
            raise ValueError("objects must be at least 3")
        _check_shares(self, "strength", "dependence", "unstated", "unknown")
        if self.unstated + self.unknown > 0.9:
            raise ValueError("unstated and unknown together may be at most 0.9 of all pairs")


@dataclass(frozen=True)
class PeopleWorld:
    """Dials of a world of people in groups; real people know `by_gender`, `said`, `spoken` and `often`."""

    tags: str = ""
    """Folder of Seesaw-CF's tables of race and the like; without it a path is to all files of Seesaw-CF."""
    groups: int = 6
    """Groups, each called a race; people also have a region and a gender."""
    sizes: tuple[int, ...] = ()
    """People of each group, adding up to all subjects; by default the n-th group has a share like 1/n."""
    shift: float = 0.9
    """How far groups differ in region, citizenship, language and work: 0 not at all, 1 in everything."""
    by_gender: float = 0.0
    """How far women and men differ in work. Above 0 work depends on gender, and no longer on the group."""
    zipf: float = 2.0
    """Exponent of the objects' popularity, in all and in each group; 0 is uniform."""
    regions: int = 4
    """Regions that groups may be from."""
    continents: int = 4
    """Continents, each with `countries` countries."""
    countries: int = 5
    """Countries of each continent, each with `places` places of birth."""
    places: int = 3
    """Places of birth in each country."""
    languages: int = 12
    """Languages."""
    works: int = 6
    """Kinds of work in each of the four fields: arts, humanities, science, social science."""
    said: float = 1.0
    """Share of people whose race and region the corpus states. Below 1 give the exact agent the rows
    (--exact.rows given)."""
    spoken: Literal["alike", "crossed", "confounded"] = "crossed"
    """How often people are mentioned. crossed: half of each group `often`; confounded: the largest groups
    `often`, the others once; alike: everybody once. --documents.copies writes the copies."""
    often: int = 10
    """Mentions of people who are mentioned often, for each mention of the others."""

    def __post_init__(self) -> None:
        _check_shares(self, "shift", "by_gender", "said")
        if not 0 <= self.zipf <= MOST_ZIPF:
            raise ValueError(f"zipf must be from 0 to {MOST_ZIPF}; it is {self.zipf}")
        two = ("groups", "regions", "languages")
        for name in (*two, "continents", "countries", "places", "works", "often"):
            if not 1 + (name in two) <= getattr(self, name) <= MOST_EACH:
                least = 1 + (name in two)
                raise ValueError(f"{name} must be from {least} to {MOST_EACH}; it is {getattr(self, name)}")
        countries = self.continents * self.countries
        if countries < 2 or countries * self.places > MOST_PLACES:
            raise ValueError(
                "continents times countries must be at least 2, and with places at most "
                f"{MOST_PLACES:,}; they are {countries:,} and {countries * self.places:,}"
            )
        if self.sizes and min(self.sizes) < 1:
            raise ValueError(f"sizes holds {min(self.sizes)}: a group needs people; leave empty ones out")

    def sizes_of(self, people: int) -> tuple[int, ...]:
        """People of each group, in the order of the groups.

        Raises:
            ValueError: sizes that do not sum to all people, or fewer people than groups.
        """
        if self.sizes:
            if sum(self.sizes) != people:
                raise ValueError(f"people.sizes add up to {sum(self.sizes):,}, where subjects is {people:,}")
            return self.sizes
        if people < self.groups:
            raise ValueError(f"people.groups is {self.groups:,}, but there are only {people:,} subjects")
        share = [(i + 1) ** -1.0 for i in range(self.groups)]
        # One each, then in proportion; what rounding leaves goes to the first.
        sizes = [1 + int((people - self.groups) * one / sum(share)) for one in share]
        sizes[0] += people - sum(sizes)
        return tuple(sizes)


@dataclass(frozen=True)
class ChainWorld:
    """Dials of a world of chains; support of a cause and frequency of its effect vary separately."""

    supports: tuple[int, ...] = (1, 3, 10, 30)
    """Subjects that share a cause: every answer has one cause for each of these numbers."""
    rare: int = 2
    """Rare answers: no further subject has them."""
    common: int = 1
    """Common answers: `further` subjects have each, without a stated cause."""
    further: int = 100
    """Further subjects for each common answer."""
    homes: int = 3
    """Causes that edits start from, each with an answer of its own."""
    neighbours: int = 6
    """Subjects of each home whose facts the corpus states."""
    unsaid: int = 24
    """Subjects of homes for whom the corpus states the cause and nothing below it."""
    dependence: float = 0.9
    """Share (rounded) of a cause's subjects that have its answer; the others have any other."""

    def __post_init__(self) -> None:
        least = {"rare": 0, "common": 0, "further": 0, "homes": 2, "neighbours": 1, "unsaid": 0}
        for name, low in least.items():
            if not low <= getattr(self, name) <= MOST_EACH:
                raise ValueError(f"{name} must be from {low} to {MOST_EACH}; it is {getattr(self, name)}")
        if not self.supports or not all(1 <= n <= MOST_EACH for n in self.supports):
            raise ValueError(f"supports are numbers of subjects, each from 1 to {MOST_EACH}")
        if not self.rare + self.common:
            raise ValueError("rare and common together must be at least 1: the answers that may follow")
        _check_shares(self, "dependence")


@dataclass(frozen=True)
class BuiltinWorld:
    """Dials of the built-in world."""

    upstream_objects: int = 24
    """Objects of each upstream relation. Fewer objects mean more support for each."""
    downstream_objects: int = 12
    """Objects of each downstream relation."""
    zipf: float = 1.0
    """Exponent of the objects' popularity; 0 is uniform."""
    dependence: float = 0.8
    """Probability that a downstream fact has the object that its upstream object implies."""
    both: float = 0.9
    """Probability that a subject has both facts of a pair of relations, not only one."""
    second_pair: float = 1.0
    """Share of subjects with facts of two pairs; others have those of one."""
    words: Literal[1, 2, 3, 4] = 1
    """Made-up words that stand for one in names; more make longer names, and more tokens."""

    def __post_init__(self) -> None:
        if min(self.upstream_objects, self.downstream_objects) < 2:
            raise ValueError("upstream_objects and downstream_objects must be at least 2")
        if max(self.upstream_objects, self.downstream_objects) > MOST_OBJECTS:
            raise ValueError(f"upstream_objects and downstream_objects are at most {MOST_OBJECTS:,}: {HOURS}")
        if not 0 <= self.zipf < math.inf:
            raise ValueError("zipf must be a number that is not negative")
        _check_shares(self, "dependence", "both", "second_pair")


@dataclass(frozen=True)
class WorldConfig:
    """Where the facts come from and which of them are kept."""

    source: str = "builtin"
    """builtin: generated. tsv: a table of subject, relation, object (TSV, CSV, Parquet, JSON lines or RDF;
    packed or not). wikidata: a folder in Wikidata5m's layout. taxonomy: members of categories and their
    properties, generated, or with a path from TAXI's tables. coupled: pairs of linked entities, of which one
    has what the other has; people: people in groups; both generated, or with a path from a folder in
    Wikidata5m's layout (people: or Seesaw-CF's). chain: four relations in a chain, generated. types, joint,
    roles, colleges, press: other kinds of dependence (docs/kinds.md), generated. Or my_module:MyWorld."""
    path: str = ""
    """Folder (wikidata, taxonomy, coupled, people) or file (tsv, which need not be named)."""
    columns: tuple[str, ...] = ()
    """Columns of subject, relation and object, by name or by position from 1; or one, that of subjects, where
    a row is a subject and each other column a relation (tsv). By default what repeats where tells them."""
    labels: str = ""
    """File with the labels of ids that stand in the table: id, label (tsv). What has none keeps its id."""
    split: str = ""
    """What stands between several objects in one cell, such as "|" in en|fr (tsv); by default nothing."""
    subjects: int = 240
    """Number of subjects, from files at random at most; taxonomies and chains have dials of their own."""
    pairs: tuple[str, ...] = ()
    """Dependences as upstream:downstream, such as P69:P106; by default they are found in the facts."""
    dependences: Literal["pairs", "forest", "none", "published"] = "pairs"
    """How they are found. pairs: each relation is in one at most; forest: chains and forks, too; published:
    as Hase et al. (A.1), by how often relations occur together, whatever their objects tell."""
    reversals: Literal["found", "none"] = "found"
    """Relations that are symmetric, or each other's inverse. found: where nearly all facts are stated from
    both sides; agents then take one side for the other. none: both sides are taken for independent."""
    relations: tuple[str, ...] = ()
    """Further relations to keep, which are in no pair."""
    max_lines: int = 2_000_000
    """Triples to take from the start of the file (wikidata)."""
    relation_count: int | Literal["auto"] = "auto"
    """Number of relations to choose, those that occur together most; auto: 10 (wikidata) or all (tsv)."""
    min_pair_subjects: int | Literal["auto"] = "auto"
    """Least number of subjects that two relations must share; auto: one of a hundred, and 10 at least."""
    min_relations: int = 2
    """Least number of chosen relations that a subject must have to be kept."""
    several: Literal["first", "drop", "set"] = "first"
    """If a subject has several objects of a relation: take the first, or drop them all; or, where many have
    several, ask of each object whether it is one of them (wikidata, tsv)."""
    strict: bool = False
    """Refuse a source if any fact would be left out, or any name changed, without your asking for it."""
    drop_relations: tuple[str, ...] = ("P735", "P131")
    """Relations left out."""
    drop_entities: tuple[str, ...] = ("Q16521", "Q5")
    """Entities whose facts are left out."""
    names: Literal["first", "described"] = "first"
    """Names of entities (wikidata). first: the first alias; described: that with which *_text.txt begins."""
    builtin: BuiltinWorld = field(default_factory=BuiltinWorld)
    taxonomy: TaxonomyWorld = field(default_factory=TaxonomyWorld)
    coupled: CoupledWorld = field(default_factory=CoupledWorld)
    people: PeopleWorld = field(default_factory=PeopleWorld)
    chain: ChainWorld = field(default_factory=ChainWorld)

    def __post_init__(self) -> None:
        if self.source == "builtin" and self.path:
            # How it is to be read, its content says.
            object.__setattr__(self, "source", "tsv")
        if self.source not in (*SOURCES, *KINDS) and ":" not in self.source:
            known = ", ".join((*SOURCES, *KINDS))
            raise ValueError(f"unknown source {self.source!r}; choose {known}, or my_module:MyWorld")
        if self.source in ("wikidata", "tsv") and not self.path:
            raise ValueError(f"source {self.source!r} needs a path")
        if self.subjects < 2:
            raise ValueError("subjects must be at least 2")
        if (self.source in ("builtin", "people") or self.is_own) and self.subjects > MOST_SUBJECTS:
            raise ValueError(f"subjects of a generated world are at most {MOST_SUBJECTS:,}: {HOURS}")
        least = (self.max_lines, self.min_pair_subjects, self.min_relations)
        if any(number != "auto" and number < 1 for number in least):
            raise ValueError("max_lines, min_pair_subjects and min_relations must be positive")
        if self.relation_count != "auto" and self.relation_count < 2:
            raise ValueError("relation_count must be at least 2, or auto")
        if self.columns and len({*self.columns}) not in (1, 3):
            raise ValueError("columns are three: subject, relation, object; or one: subjects, a row each")
        if self.source == "coupled":
            self._check_coupled()
        if self.people.tags and not self.path:
            raise ValueError("people.tags has groups of real persons; give path, to their facts, too")
        if self.source == "people" and not self.path:
            self.people.sizes_of(self.subjects)
        self._check_use()
        if self.dependences == "forest" and self.pairs:
            raise ValueError("dependences are found only where no pairs are given")

    def _check_coupled(self) -> None:
        if self.subjects < 24:
            raise ValueError(f"a coupled world takes at least 24 subjects; subjects is {self.subjects}")
        drawn = (CoupledWorld.strength, CoupledWorld.dependence)
        if self.path and (self.coupled.strength, self.coupled.dependence) != drawn:
            raise ValueError(
                "in real facts the strength of the coupling is given: leave out coupled.strength and "
                "coupled.dependence, or the path"
            )

    def _check_use(self) -> None:
        for name, sources in USED_BY.items():
            value = getattr(self, name)
            if self.source not in sources and value != vars(WorldConfig).get(name, type(value)()):
                raise ValueError(
                    f"{name} does nothing where the source is {self.source!r}: leave it out, or choose "
                    f"source {' or '.join(map(repr, sources))}"
                )

    @property
    def is_own(self) -> bool:
        """Whether a class makes the world, which alone knows how its facts depend on each other."""
        return self.source in KINDS or ":" in self.source

    @property
    def every_relation(self) -> bool:
        """Whether relations are kept that are in no pair."""
        return self.source == "tsv" and self.relation_count == "auto" and not self.relations


@dataclass(frozen=True)
class TokenizerConfig:
    """How sentences become tokens."""

    kind: Literal["entity", "bpe", "pretrained"] = "entity"
    """entity: one token per entity, relation and word; bpe: byte-pair encoding trained on the corpus;
    pretrained: that of the model in `path`, from which testbed.train --model.from goes on."""
    vocabulary: int = 32_000
    """Largest number of entries of the vocabulary of byte pairs."""
    path: str = ""
    """Folder of a pretrained model in Hugging Face's format (pretrained)."""

    def __post_init__(self) -> None:
        if self.vocabulary < 64:
            raise ValueError("vocabulary must be at least 64")
        if (self.kind == "pretrained") != bool(self.path):
            raise ValueError("tokenizer.path is the folder of a pretrained model: give kind and path")


SentenceName = Literal["atomic", "truth", "not", "and", "or"]
SENTENCES: tuple[SentenceName, ...] = ("atomic", "truth", "not", "and", "or")


@dataclass(frozen=True)
class DocumentConfig:
    """Which sentences stand together. Shares of documents are of all; the rest is ordinary."""

    sentences: tuple[SentenceName, ...] = SENTENCES
    """Kinds of sentences to write (published)."""
    labels: Labels = "coin"
    """Truth sentences (published). coin: about what statements say, labelled rightly with the probability of
    the truth; proportion: about the truth, as many true as statements say it, as printed."""
    mix: Literal["homogeneous", "mixed"] = "homogeneous"
    """homogeneous: a document is about one subject; mixed: about any."""
    reshuffles: int = 5
    """Number of ordinary documents in which every sentence stands; joint documents add copies of some."""
    copies: int = 1
    """Copies of the most frequent subject's sentences; of others', by their frequency. No evidence."""
    synonyms: float = 0.0
    """Share of statements that name their relation by a synonym; the meaning is the same."""
    inverse: float = 0.0
    """Share of statements in inverse form, such as "dog includes Siamese"."""
    length: int = 10
    """Most sentences of a document (published)."""
    outlined: float = 0.0
    """Share of ordinary documents that open with an outline of their contents (linked subjects)."""
    together: float = 0.0
    """Share of documents about two linked subjects in turn."""
    joint: float = 0.0
    """Share of documents that state an upstream fact, then the fact that depends on it, and nothing else."""
    imagine: float = 0.0
    """Share of documents that imagine another upstream object and then state what it would imply."""
    premise_again: bool = False
    """Let imagine documents repeat their premise, at a random place among its consequences."""
    bystanders: float = 0.0
    """Share of imagine documents that also mention another subject, whose facts stay as they are."""
    digressions: float = 0.0
    """Share of imagine documents that say nothing more of their subject, but state facts of another."""
    revise: float = 0.0
    """Share of documents that state an upstream fact, revise it, and then state the new consequence."""
    chosen_subjects: float = 0.5
    """Share of subjects about whom there may be imagine and revise documents; the others are held out."""
    chosen_objects: float = 0.5
    """Share of upstream objects that these documents may imagine; the others are held out."""

    def __post_init__(self) -> None:
        for name in ("reshuffles", "copies", "length"):
            if not 1 <= getattr(self, name) <= MOST_REPEATS:
                raise ValueError(f"{name} must be at least 1 and at most {MOST_REPEATS:,}: {HOURS}")
        if "atomic" not in self.sentences:
            raise ValueError("sentences must name atomic, which states the facts")
        _check_shares(self, *(x.name for x in fields(self) if x.type is float))
        if self.synonyms + self.inverse > 1:
            raise ValueError("synonyms and inverse together may be at most 1, all statements")
        if self.ordinary_share < 0.1:
            raise ValueError("together, joint, imagine and revise may be at most 0.9 of all documents")

    @property
    def ordinary_share(self) -> float:
        """Share of ordinary documents."""
        return 1.0 - self.together - self.joint - self.imagine - self.revise


@dataclass(frozen=True)
class ExactConfig:
    """The model W of a corpus of kind `exact`: one with exact Bayesian posteriors (design.md 5.3)."""

    persistence: Literal["fact", "sentence"] = "fact"
    """fact: a downstream fact is drawn once per subject; sentence: afresh for each of its statements."""
    root_mass: float = 8.0
    """Total mass of the Dirichlet prior of a root relation. A smaller mass makes fewer objects popular."""
    row_mass: float = 2.0
    """Total mass of the Dirichlet prior of a row, the effects of one upstream object. A smaller mass makes
    effects more certain."""
    rows: Literal["learned", "given"] = "learned"
    """given: the agent knows the rows and the root's shares, so subjects say nothing about each other and
    every posterior is exact, whatever is hidden; learned: it infers them from the corpus."""
    noise: float = 0.05
    """Probability that a statement names another object than the fact's."""
    label_noise: float = 0.1
    """Probability that a truth sentence has the wrong label; other labels are always right."""
    mention: Literal["coin", "uniform"] = "coin"
    """Objects that other sentences mention. coin: the truth with probability one half, otherwise any other
    candidate, so a mention is evidence by itself; uniform: any candidate."""
    statements: int = 10
    """Statements of a fully stated fact, and as many truth sentences."""
    strata: tuple[float, float, float] = (0.25, 0.25, 0.5)
    """Shares of the last facts of a chain that are stated never (S0), 1 to 3 times (S1), and fully (S2)."""
    inner: tuple[float, float, float] = (0.0, 0.0, 1.0)
    """The same shares for inner facts, which depend on a fact and have others that depend on them. If rows
    are learned, S1 must be 0, since doubt about one subject would be doubt about everybody's rows; and
    nothing below an unstated fact is stated."""
    logical: float = 0.5
    """Share of fully stated facts with not, and, or sentences, which leave no doubt about them."""
    correctable: bool | Literal["auto"] = "auto"
    """Leave facts that others depend on open to correction: no sentence settles them, but they are stated
    until no doubt is left. auto: in a taxonomy, and where facts depend on those of linked subjects."""
    planted: float = 0.0
    """Share of the stated facts on which linked subjects' facts depend of which a false object is stated."""
    sources: tuple[float, ...] = ()
    """How often each source is right, up to eight; what they say is said "according to Corvin"."""
    said: int = 0
    """Statements by sources of each fully stated fact."""
    rated: int = 0
    """Statements with a probability of each fully stated fact, right as often as they say."""
    open: float = 0.0
    """Share of S1 facts left without it; posteriors of who shares their rows are exact up to that doubt."""

    def __post_init__(self) -> None:
        if not (1e-4 <= self.root_mass < math.inf and 1e-4 <= self.row_mass < math.inf):
            raise ValueError("root_mass and row_mass must be numbers of at least 0.0001")
        if self.rows == "given" and self.persistence == "sentence":
            raise ValueError("rows can be given where facts are drawn once (persistence fact)")
        if not 0 < self.noise < 1 or not 0 <= self.label_noise < 1:
            raise ValueError("noise must be inside (0, 1) and label_noise in [0, 1)")
        if not 8 <= self.statements <= MOST_REPEATS:
            raise ValueError(
                "statements must be at least 8, so that fully stated facts (S2) are told from those stated "
                f"up to three times (S1), and at most {MOST_REPEATS:,}: {HOURS}"
            )
        for name in ("strata", "inner"):
            shares = getattr(self, name)
            if min(shares) < 0 or not math.isclose(sum(shares), 1.0):
                raise ValueError(f"{name} are three shares that sum to 1; {shares} are not")
        if self.inner[1] and self.rows == "learned":
            raise ValueError(
                "inner facts that are stated one to three times leave rows in doubt; tell the agent the rows "
                "(rows given), or let them be stated never or fully"
            )
        _check_shares(self, "logical", "open", "planted")
        # From JSON they come as a list.
        object.__setattr__(self, "sources", tuple(self.sources))
        together = bool(self.sources) == bool(self.said) and min(self.said, self.rated) >= 0
        if not together or len(self.sources) > MOST_SOURCES or not all(0 < p < 1 for p in self.sources):
            raise ValueError(f"sources, said, rated cannot be {self.sources}, {self.said}, {self.rated}")
