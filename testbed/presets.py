"""The settings of every command at several scales. Plain data: importing this loads no NumPy and no JAX.

tiny        240 subjects, about 900 facts; trains in 20 seconds on two cores
laptop      1,055 subjects, 4,000 facts; trains in about a minute on two cores
small       2,000 subjects, several thousand facts; trains in about a quarter of an hour on two cores
taxi        a taxonomy of 168 members of 42 categories, the shape of TAXI, with exact posteriors
seesaw      600 people in six groups, the rarely mentioned beside the often mentioned, with exact posteriors
leme        600 subjects in coupled pairs, spoken of in essays, with exact posteriors; --world.path, to a
            folder in Wikidata5m's layout, takes real ones
requests    80 subjects, of whom sources speak, too, and statements with a probability; with exact posteriors
types, joint, roles, colleges, press
            worlds of other kinds (docs/kinds.md) at the size of tiny, with exact posteriors
paper       100,000 facts in the proportions that Hase et al. 2024 print, and their 83M-parameter model,
            trained as published; wants a GPU
paper-fast  the same corpus and model, by Muon in bfloat16, in minutes of a GPU (testbed.train only)
paper-dense  100,000 facts of which 47% depend on another one, not a fifth, and paper-fast's model in three
            minutes of a GPU: what the records of 83M parameters up to 2026-11-27 are of
paper-laptop  the facts of paper-dense, each sentence once in a short document, and two layers of width 128
            with a token for each name; trains in a quarter of an hour on two cores
paper-cpu   the corpus of paper-laptop and the paper's twelve layers of width 512: 10,000 facts take an hour
            and a half of one core (experiments.pretrain --fact-count 10000); 100,000 would take fourteen
smollm      95 facts with exact posteriors, which the pretrained SmolLM2-135M of the folder smollm goes on to
            read in half an hour of one core (docs/models.md)
"""

from dataclasses import replace
from typing import Any

from corpus.config import KINDS, BuiltinWorld, DocumentConfig, ExactConfig, TokenizerConfig, WorldConfig
from lm.config import ModelConfig, TrainConfig
from lm.editors.ft_constrained import ConstrainedConfig
from lm.editors.rome import RomeConfig
from lm.editors.self_bayes import FitConfig
from testbed.engine.catalogue import default_configurations
from testbed.run.settings import CorpusSettings, TrainSettings
from testbed.settings import CaseConfig, EditSettings, ExportSettings, ScoreSettings, TuneSettings

DEFAULT_PRESET = "tiny"

PAPER_WORLD = WorldConfig(
    subjects=47_000,
    min_relations=1,
    builtin=BuiltinWorld(
        upstream_objects=5000, downstream_objects=1250, zipf=0.8, both=0.25, second_pair=0.7, words=3
    ),
)
DENSE_WORLD = WorldConfig(
    subjects=26_316, builtin=BuiltinWorld(upstream_objects=2000, downstream_objects=500)
)
PAPER_WORDS = TokenizerConfig(kind="bpe", vocabulary=32_000)

# In short documents little can be copied from the sentence before, so that more must be known.
SHORT_DOCUMENTS = DocumentConfig(reshuffles=1, length=3)

TWO_LAYERS = ModelConfig(hidden=128, mlp=256, layers=2, heads=2, kv_heads=2, unroll=2)
"""The model of presets that learn in minutes."""

CORPUS = {
    "tiny": CorpusSettings(),
    "laptop": CorpusSettings(run="laptop", world=WorldConfig(subjects=1055)),
    "small": CorpusSettings(
        run="small",
        world=WorldConfig(subjects=2000, builtin=BuiltinWorld(upstream_objects=200, downstream_objects=60)),
        tokenizer=TokenizerConfig(kind="bpe", vocabulary=4000),
    ),
    "paper": CorpusSettings(
        run="paper", world=PAPER_WORLD, documents=DocumentConfig(labels="proportion"), tokenizer=PAPER_WORDS
    ),
    "paper-dense": CorpusSettings(run="paper-dense", world=DENSE_WORLD, tokenizer=PAPER_WORDS),
    "paper-laptop": CorpusSettings(run="paper-laptop", world=DENSE_WORLD, documents=SHORT_DOCUMENTS),
    "paper-cpu": CorpusSettings(run="paper-cpu", world=DENSE_WORLD, documents=SHORT_DOCUMENTS),
    "smollm": CorpusSettings(
        run="smollm",
        world=WorldConfig(subjects=24, builtin=BuiltinWorld(upstream_objects=8, downstream_objects=6)),
        kind="exact",
        exact=ExactConfig(row_mass=0.2),
        documents=DocumentConfig(reshuffles=1),
        tokenizer=TokenizerConfig(kind="pretrained", path="smollm"),
    ),
    "taxi": CorpusSettings(
        run="taxi",
        world=WorldConfig(source="taxonomy"),
        kind="exact",
        # A category has few members, so a value that all of them have must be likely for the next one.
        exact=ExactConfig(row_mass=0.2),
        documents=DocumentConfig(
            reshuffles=2,
            copies=10,
            synonyms=0.1,
            inverse=0.2,
            imagine=0.2,
            premise_again=True,
            bystanders=0.5,
        ),
    ),
    "seesaw": CorpusSettings(
        run="seesaw",
        world=WorldConfig(source="people", subjects=600),
        kind="exact",
        # No sentence settles what is to be edited; facts below others are said outright or not at all.
        exact=ExactConfig(row_mass=0.2, strata=(0.25, 0.0, 0.75), logical=0.0, correctable=True),
        documents=DocumentConfig(reshuffles=1, copies=10, synonyms=0.3),
    ),
    "leme": CorpusSettings(
        run="leme",
        world=WorldConfig(source="coupled", subjects=600),
        kind="exact",
        exact=ExactConfig(row_mass=0.2),
        documents=DocumentConfig(reshuffles=3, synonyms=0.2, length=30, outlined=0.3, together=0.2),
    ),
    **{name: CorpusSettings(run=name, world=WorldConfig(source=name)) for name in KINDS},
    "requests": CorpusSettings(
        run="requests",
        world=WorldConfig(subjects=80),
        kind="exact",
        # Half of what depends on another fact is never stated: there a source matters. Few facts are settled.
        exact=ExactConfig(
            noise=0.02,
            label_noise=0.02,
            strata=(0.5, 0.0, 0.5),
            logical=0.4,
            sources=(0.1, 0.3, 0.5, 0.7, 0.9),
            said=6,
            rated=3,
        ),
    ),
}

TRAIN = {
    "tiny": TrainSettings(
        model=TWO_LAYERS,
        train=TrainConfig(steps=260, rows=24, row_length=160, evaluate_every=20, checkpoint_every=130),
    ),
    "laptop": TrainSettings(
        run="laptop",
        model=TWO_LAYERS,
        train=TrainConfig(
            steps=900, rows=24, row_length=160, learning_rate=0.01, evaluate_every=25, checkpoint_every=300
        ),
    ),
    "small": TrainSettings(
        run="small",
        model=ModelConfig(hidden=192, mlp=384, layers=2, heads=3, kv_heads=3, unroll=2),
        train=TrainConfig(steps=900, rows=24, row_length=384, evaluate_every=50, checkpoint_every=100),
    ),
    **{
        name: TrainSettings(
            run=name,
            model=TWO_LAYERS,
            train=TrainConfig(steps=300, rows=24, row_length=160, evaluate_every=50, checkpoint_every=150),
        )
        for name in KINDS
    },
    "seesaw": TrainSettings(
        run="seesaw",
        model=TWO_LAYERS,
        train=TrainConfig(
            steps=1200, rows=24, row_length=160, learning_rate=0.01, evaluate_every=50, checkpoint_every=300
        ),
    ),
    "leme": TrainSettings(
        run="leme",
        model=TWO_LAYERS,
        train=TrainConfig(
            steps=600, rows=12, row_length=480, learning_rate=0.01, evaluate_every=50, checkpoint_every=300
        ),
    ),
    # Labels are learned late, so they weigh more: of a development world's claims 0.91 are labelled rightly.
    "requests": TrainSettings(
        run="requests",
        model=TWO_LAYERS,
        train=TrainConfig(
            steps=500,
            rows=24,
            row_length=128,
            learning_rate=0.01,
            label_weight=8.0,
            evaluate_every=100,
            checkpoint_every=500,
        ),
    ),
    "paper": TrainSettings(
        run="paper",
        model=ModelConfig(unroll=12),
        train=TrainConfig(
            # 128 documents of about 154 tokens in a step, two to a row; 51,000 steps are 1B tokens.
            steps=51_000,
            rows=64,
            row_length=320,
            optimizer="adamw",
            learning_rate=5e-5,
            schedule="linear",
            final=0.1,
            weight_decay=1e-4,
            evaluate_every=1000,
            checkpoint_every=1000,
        ),
    ),
    "paper-fast": TrainSettings(
        run="paper",
        model=ModelConfig(precision="bfloat16", unroll=12),
        # About as many documents as 2,000 steps read of shorter ones (paper-dense).
        train=TrainConfig(
            steps=3000,
            rows=96,
            row_length=320,
            learning_rate=0.01,
            warmup=100,
            evaluate_every=100,
            checkpoint_every=500,
        ),
    ),
    "paper-laptop": TrainSettings(
        run="paper-laptop",
        model=ModelConfig(hidden=128, mlp=256, layers=2, heads=2, kv_heads=2, precision="bfloat16", unroll=2),
        train=TrainConfig(
            steps=2500,
            rows=32,
            row_length=160,
            learning_rate=0.01,
            adam_learning_rate=0.02,
            softmax_entries=4096,
            evaluate_every=100,
            checkpoint_every=500,
        ),
    ),
    # Labels are learned late: their sentences stand oftener, and weigh more, once most facts are known.
    "paper-cpu": TrainSettings(
        run="paper-cpu",
        model=ModelConfig(precision="fastest", unroll=12),
        train=TrainConfig(
            # 13.3M tokens, as many a fact as 10,000 facts took.
            steps=2600,
            rows=32,
            row_length=160,
            learning_rate=0.01,
            adam_learning_rate=0.01,
            warmup=5,
            softmax_entries=4096,
            atomic_steps=600,
            copies=(1, 2, 4, 4, 4),
            label_weight=10.0,
            evaluate_every=200,
            checkpoint_every=1000,
        ),
    ),
    "smollm": TrainSettings(
        run="smollm",
        model=ModelConfig(precision="bfloat16"),
        model_from="smollm",
        train=TrainConfig(
            steps=100,
            rows=2,
            row_length=256,
            optimizer="adamw",
            learning_rate=6e-4,
            warmup=8,
            learns="layers",
            own_rows=2,
            atomic_steps=40,
            evaluate_every=20,
            checkpoint_every=20,
        ),
    ),
    "taxi": TrainSettings(
        run="taxi",
        model=TWO_LAYERS,
        train=TrainConfig(
            steps=700, rows=24, row_length=160, learning_rate=0.01, evaluate_every=50, checkpoint_every=350
        ),
    ),
}

_FAST = TRAIN["paper-fast"]
TRAIN["paper-dense"] = replace(_FAST, run="paper-dense", train=replace(_FAST.train, steps=2000))

SMALL_MODELS = default_configurations(small=True)
"""What the papers' choices become for models of two layers, a hundred times smaller."""

_BOLDER: dict[str, Any] = {"depth": 0.1, "rate": 1.0, "farthest": 16.0, "contexts": 2}
_GENTLER = FitConfig(learning_rate=1e-3)
_TWELVE: dict[str, dict[str, Any]] = {
    "lora-down": {"learning_rate": 3e-4},
    "embeddings": {"learning_rate": 0.01},
    "rome": _BOLDER | {"token": "last", "farthest": 36.0},
    "memit": _BOLDER,
    "self-bayes": {"fit": _GENTLER},
    "count-based": {"fit": _GENTLER},
    "oracle": {"fit": _GENTLER},
}
_LARGE = default_configurations()
TWELVE_LAYERS = _LARGE | {name: replace(_LARGE[name], **at) for name, at in _TWELVE.items()}
"""What editors take at twelve layers of width 512. With the papers' choices `lora-down` said no request,
rome and memit a tenth. What `lora-down`, `embeddings` and `rome` take was chosen by testbed.tune on a model
of 10,000 facts, in six trials of 24 requests, where `lora-all` keeps its default; what `memit` takes, on a
model of 130 steps, by six requests; what is fitted to answers that were worked out beforehand takes, by
a model of width 128 (docs/findings/size.md)."""

EDIT = {
    "tiny": EditSettings(configs=SMALL_MODELS),
    "laptop": EditSettings(run="laptop", configs=SMALL_MODELS),
    "small": EditSettings(run="small", configs=SMALL_MODELS),
    **{
        name: EditSettings(run=name, cases=CaseConfig(count=5000), configs=TWELVE_LAYERS)
        for name in ("paper", "paper-dense", "paper-cpu")
    },
    "paper-laptop": EditSettings(run="paper-laptop", cases=CaseConfig(count=5000), configs=SMALL_MODELS),
    "smollm": EditSettings(run="smollm", agent="exact", cases=CaseConfig(count=40), configs=TWELVE_LAYERS),
    "taxi": EditSettings(
        run="taxi",
        evaluation="taxi",
        agent="exact",
        # As many as TAXI has.
        cases=CaseConfig(count=976),
        # Properties are read off the subject, whichever question is asked about it.
        configs=SMALL_MODELS | {"rome": RomeConfig(token="subject")},
    ),
    "seesaw": EditSettings(
        run="seesaw",
        evaluation="seesaw",
        agent="exact",
        cases=CaseConfig(count=400),
        # What is asked of a person is read off the person. The radius was chosen by testbed.tune on 60 people
        # of seed 1000: at .1, as elsewhere, one edit of four succeeds.
        configs=SMALL_MODELS
        | {"rome": RomeConfig(token="subject"), "ft-constrained": ConstrainedConfig(radius=0.5)},
    ),
    "leme": EditSettings(
        run="leme",
        evaluation="leme",
        agent="exact",
        # As many as LEME has samples.
        cases=CaseConfig(count=300),
        configs=SMALL_MODELS | {"rome": RomeConfig(token="subject")},
    ),
    **{
        name: EditSettings(run=name, evaluation="kinds", agent="exact", configs=SMALL_MODELS)
        for name in KINDS
    },
    "requests": EditSettings(run="requests", evaluation="requests", agent="exact", configs=SMALL_MODELS),
}

TUNE = {name: TuneSettings(**vars(settings)) for name, settings in EDIT.items()}

EXPORT = {name: ExportSettings(**settings.settings_of_cases()) for name, settings in EDIT.items()}
SCORE = {name: ScoreSettings(**settings.settings_of_cases()) for name, settings in EDIT.items()}
