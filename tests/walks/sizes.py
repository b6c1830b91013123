"""All in which a walk differs from what a page says: sizes, and lines that are left out."""

from tests.runs import MODEL

PAGES = (
    ("docs/tour.md", "docs/works_with.md"),
    ("README.md", "docs/pytorch.md", "docs/examine.md", "docs/models.md"),
    ("docs/own.md",),
    ("docs/kinds.md",),
    ("docs/tour.ipynb",),
)
"""Pages that one reader reads, one after another in one folder. Readers walk side by side."""
READERS = 2
"""How many walk at once: one on each core, the longest way first."""

SMALL_WORLD = "--world.subjects 60"
FEW_OBJECTS = "--world.builtin.upstream-objects 5 --world.builtin.downstream-objects 4"
SMALL_MODEL = " ".join([*MODEL, "--train.steps 30 --train.row-length 100 --train.rows 8"])
FEW_CASES = "--cases.count 6"
SIZES = (
    ("testbed.corpus", SMALL_WORLD),
    ("testbed.corpus tiny", FEW_OBJECTS),
    ("testbed.train", SMALL_MODEL),
    ("testbed.train paper-fast", "--train.warmup 2 --train.row-length 200"),
    ("testbed.edit", FEW_CASES),
    ("testbed.edit tiny memit --batch 10", "--cases.count 20"),
    ("--sequential 120", "--sequential 20 --cases.count 20"),
    ("testbed.tune", f"--trials 2 {FEW_CASES}"),
    ("testbed.export --cases", FEW_CASES),
    ("testbed.score", FEW_CASES),
    ("testbed.examine --export", "--quick"),
    ("testbed.examine answers", "--quick"),
)
"""What is appended to a command that holds these words; of several the later ones count."""

FEWER = {"count=60": "count=4", "count=24": "count=4", "range(40)": "range(4)"}
"""What is replaced in Python."""

BEFORE = (
    ("testbed.corpus tiny", "testbed.train tiny", "testbed.edit tiny"),
    (
        "testbed.corpus tiny --run dev --seed 1",
        "testbed.train tiny --run dev --seed 1",
        "testbed.corpus tiny --run demo-1 --seed 2",
    ),
)
"""In place of `make demo`, which every reader has typed, and of two more worlds that pages speak of."""

LEFT_OUT = {
    "make demo": "its commands are typed one by one; tests/test_readme.py types it",
    "make test": "it walks",
    "python -m testbed.demo": "its commands are typed one by one",
    "python3 -m venv": "the environment is the one that walks",
    "pip install": "nothing is installed; tests/test_wheel.py installs",
    "smollm": "a pretrained model of 98 MB; tests/test_pretrained.py has a toy",
    "HOST:PORT": "two machines; tests/test_mesh.py has two processes",
    "--mesh.data 4 --mesh.model 2": "eight devices; tests/test_mesh.py has them",
    "FOLDER": "a folder of Wikidata5m",
    "--gold gold.csv": "a table of somebody's own; tests/test_gold_file.py scores one",
    "--and-runs demo-1 demo-2": "three demos; tests/test_report.py pools runs",
    "python -m testbed.examine my_editor:MyEditor            #": "half an hour; with --quick it is walked",
}
"""Lines that hold these words, and why nobody types them here."""

NEEDS = {
    "import AutoModelForCausalLM, AutoTokenizer": ("torch", "transformers"),
    "import LoraConfig, get_peft_model\nfrom": ("torch", "transformers", "peft"),
    "from datasets": ("datasets",),
    "from huggingface_hub": ("huggingface_hub", "yaml"),
    "from inspect_ai": ("inspect_ai",),
    "from nnsight": ("nnsight",),
    "from transformer_lens": ("transformer_lens",),
    "my_torch": ("torch", "transformers"),
    "my_last_layer": ("torch", "transformers"),
    "my_peft": ("torch", "transformers", "peft"),
    "my_own_model.py": ("torch", "transformers"),
    "gpt2-answers": ("torch", "transformers"),
    "my_answers": ("torch", "transformers", "peft"),
    "testbed.score answers": ("torch", "transformers", "peft"),
    "testbed.examine answers": ("torch", "transformers", "peft"),
}
"""Packages without which lines that hold these words are left out."""

INSTEAD = {"-m testbed.examine": "-m tests.walks.examine"}
"""Commands that are small by a module of their own; of `testbed.examine` no option is."""
FORBIDDEN = ("Traceback", "does not say so")
"""What no command may print."""


def write_facts() -> str:
    """A reader's own table: 120 people, most of whom speak the language of where they were born."""
    lines = []
    for i in range(120):
        town = i * 7 % 12
        tongue = town if i % 5 else (town + 1) % 12
        lines += [f"Person {i}\tborn in\tTown {town}", f"Person {i}\tspeaks\tTongue {tongue}"]
    return "\n".join(lines) + "\n"
