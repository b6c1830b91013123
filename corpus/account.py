"""What became of a source on its way to a world: what was left out, and which names were changed."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

from corpus.errors import InputError
from corpus.names import Renamed

EXAMPLES = 3


@dataclass
class Account:
    """Filled while a world is built, for whoever asked for it.

    Attributes:
        left_out: how many of what was left out, in the order of the steps.
        renamed: names that are not spelt as in the source.
        trouble: what `--world.strict` refuses: whatever nobody asked to leave out, with examples.
    """

    left_out: dict[str, int] = field(default_factory=dict)
    renamed: list[Renamed] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)

    def leave_out(self, what: str, count: int, examples: Iterable[str] | None = None) -> None:
        """Count something that is left out; without `examples` it was asked for, and is no trouble."""
        if count:
            self.left_out[what] = self.left_out.get(what, 0) + int(count)
            if examples is not None:
                shown = "; ".join(f"{example:.200}" for example in islice(examples, EXAMPLES))
                self.trouble.append(f"{count:,} {what}" + (f", such as {shown}" if shown else ""))

    def check(self, source: str) -> None:
        """Refuse a source that went in with something left out or renamed.

        Raises:
            InputError: lists all of it.
        """
        clashes = [f"{one.label!r:.200}: {one.why}" for one in self.renamed]
        if clashes:
            clashes.insert(0, f"{len(clashes):,} names that sentences could not be read with:")
        if lines := [*self.trouble, *clashes]:
            found = "\n  ".join(lines)
            raise InputError(f"{source} does not go in as it is (--world.strict):\n  {found}")
