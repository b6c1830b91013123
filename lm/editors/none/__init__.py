"""none: no edit at all, the floor of every table."""

from lm.editors.entry import Entry

EDITORS = (
    Entry(
        name="none", about="control: nothing, the floor of every table", build="lm.editors.none.method:NoEdit"
    ),
)
