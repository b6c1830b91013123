"""What became of a source on its way to a world: what was left out, and which names were changed."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from corpus.errors import InputError
from corpus.files import hash_content, hash_file, read_json, write_json
from corpus.text.names import NameChange

EXAMPLES = 3
ACCOUNT, RENAMED = "account.json", "renamed.tsv"


@dataclass
class Account:
    """Filled while a world is built, for whoever asked for it.

    Attributes:
        left_out: how many of what was left out, in the order of the steps.
        named: of some of what was left out, all names.
        renamed: names that are not spelt as in the source.
        trouble: what `--world.strict` refuses: whatever nobody asked to leave out, with examples.
        source: digest of the source, see `digest_sources`; empty where nobody took it.
    """

    left_out: dict[str, int] = field(default_factory=dict)
    named: dict[str, list[str]] = field(default_factory=dict)
    renamed: list[NameChange] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)
    source: str = ""

    def leave_out(self, what: str, count: int, examples: Iterable[str] | None = None) -> None:
        """Count something that is left out; without `examples` it was asked for, and is no trouble."""
        if count:
            self.left_out[what] = self.left_out.get(what, 0) + int(count)
            if examples is not None:
                excerpt = "; ".join(f"{example:.200}" for example in islice(examples, EXAMPLES))
                self.trouble.append(f"{count:,} {what}" + (f", such as {excerpt}" if excerpt else ""))

    def leave_out_named(self, what: str, names: Sequence[str], count: int | None = None) -> None:
        """As `leave_out`, of which all names are kept; by default each is one."""
        self.leave_out(what, len(names) if count is None else count, names)
        if names:
            self.named[what] = [*names]

    def check_totals(self, source: str) -> None:
        """Refuse a source that went in with something left out or renamed.

        Raises:
            InputError: lists all of it.
        """
        clashes = [f"{one.label!r:.200}: {one.why}" for one in self.renamed]
        if clashes:
            clashes.insert(0, f"{len(clashes):,} names that sentences could not be read with:")
        if lines := [*self.trouble, *clashes]:
            listing = "\n  ".join(lines)
            raise InputError(f"{source} cannot be taken as it is (--world.strict):\n  {listing}")


def save_account(account: Account, folder: Path) -> None:
    """Write the counts, and all changed names with the reasons, into an existing folder."""
    counts = {"left_out": account.left_out, "named": account.named, "source": account.source}
    write_json(folder / ACCOUNT, counts)
    lines = ["label\tname\twhy", *("\t".join(" ".join(f.split()) for f in one) for one in account.renamed)]
    (folder / RENAMED).write_text("\n".join(lines) + "\n", encoding="utf-8")


def load_account(folder: Path) -> Account:
    """Read what `save_account` wrote; nothing where a world has none."""
    if not (folder / RENAMED).exists():
        return Account()
    rows = (folder / RENAMED).read_text(encoding="utf-8").split("\n")[1:-1]
    renamed = [NameChange(*row.split("\t")) for row in rows]
    saved = read_json(folder / ACCOUNT)
    return Account(saved["left_out"], saved["named"], renamed, source=saved.get("source", ""))


def digest_sources(*paths: str) -> str:
    """A hash of the content of tables, and of all files of folders; those that are "" are left out."""
    sums = [_digest_source(Path(path).expanduser(), hash_file) for path in paths if path]
    return sums[0] if len(sums) == 1 else hash_content(sums)


def _digest_source(path: Path, digest: Callable[[Path], str | int]) -> str:
    if path.is_file():
        return hash_file(path)
    return hash_content({str(p.relative_to(path)): digest(p) for p in path.rglob("*") if p.is_file()})


def describe_change(world: Path, *sources: str) -> str:
    """In words, how a source differs from what it was when a world was made of it; empty if it does not.

    Args:
        world: the folder with the world's account.
        sources: the paths to its sources; empty where it had none.
    """
    account = load_account(world)
    if not sources[0] or not account.source:
        return ""
    for source in sources:
        if source and not Path(source).expanduser().exists():
            return f"{source}, of which this world was made, is gone"
    # Worlds of a former version know the sizes of a folder's files only.
    of_sizes = _digest_source(Path(sources[0]).expanduser(), lambda path: path.stat().st_size)
    is_same = account.source in (digest_sources(*sources), of_sizes)
    return "" if is_same else f"{sources[0]} has changed since this world was made of it"
