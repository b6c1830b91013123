"""Templates of pages: what is filled in is escaped, and what is missing is an error."""

from pathlib import Path
from typing import Any

import jinja2


def load_template(path: Path, **names: Any) -> jinja2.Template:
    """The template in a file; it may include files beside it, or beside this module.

    Args:
        names: what it may call besides what it is rendered with.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([path.parent, Path(__file__).parent]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= names
    return environment.get_template(path.name)
