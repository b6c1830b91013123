"""Real people by race and region: whose cells are compared with which printed ones."""

from pathlib import Path

import pytest

from corpus.worlds.people import RACE, REGION
from corpus.worlds.people.tags import read_tags
from experiments.studies.seesaw_real import TABLES, Settings, edit_settings, rename_regions
from experiments.studies.seesaw_released import PRINTED, read_printed_cells

FILES = Path(__file__).parents[2] / "shared" / "data" / "seesaw_cf"


def test_every_printed_cell_is_kept_under_the_tags_name_of_its_group():
    for number in TABLES.values():
        for printed in read_printed_cells(number).values():
            assert [*rename_regions(printed).values()] == [*printed.values()]


@pytest.mark.skipif(not FILES.exists(), reason="the authors' files are not here")
def test_the_tags_know_every_printed_group():
    tags = read_tags(FILES)
    for grouping, known in ((RACE, tags.race), (REGION, tags.region)):
        groups = {
            group for of in read_printed_cells(TABLES[grouping]).values() for _, group in rename_regions(of)
        }
        assert groups <= {*known.values()}


def test_an_edit_is_the_same_at_every_dose():
    options = Settings()
    one, many = (edit_settings(options, "memit", dose) for dose in options.doses)
    assert (one.batch, many.batch) == options.doses
    assert one.settings_as_data() | {"batch": 0} == many.settings_as_data() | {"batch": 0}
    assert {*PRINTED.values()} <= {*options.editors}
    with pytest.raises(ValueError, match="multiple of every dose"):
        Settings(edits=10, doses=(1, 3))
