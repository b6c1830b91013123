"""TAXI's studies: which worlds are read, and which models and rates the panels of fine-tuning need."""

import pytest

from experiments.command import run_module
from experiments.studies import taxi, taxi_contexts, taxi_finetuning
from experiments.studies.taxi_finetuning import BASE, DEEP, PANELS, PLACES, RATE, edit_settings, list_rates


def test_tables_alone_leave_out_what_is_generated():
    options = taxi.Settings(path="somewhere", seeds=2, table_seeds=2)
    worlds = [(run.name, seed, path) for run, seed, path in taxi.list_worlds(options)]
    generated = [("taxi-0", 0, ""), ("taxi-1", 1, "")]
    tables = [("taxi-tables-0", 0, "somewhere"), ("taxi-tables-1", 1, "somewhere")]
    assert worlds == generated + tables
    groups = {name: [run.name for run in runs] for name, runs in taxi.list_groups(options).items()}
    assert groups == {
        "generated": ["taxi-0", "taxi-1"],
        "tables": ["taxi-tables-0", "taxi-tables-1"],
        "plain documents": [taxi.PLAIN],
    }
    alone = taxi.Settings(path="somewhere", only_tables=True, table_seeds=2)
    assert [*taxi.list_groups(alone)] == ["tables"]
    assert alone.command == "python -m experiments.taxi --path FOLDER --table-seeds 2 --only-tables"
    assert "tables" not in taxi.list_groups(taxi.Settings())


def test_tables_alone_need_their_folder(capsys):
    with pytest.raises(SystemExit):
        run_module(taxi, ["--only-tables"])
    assert "--only-tables needs a --path" in capsys.readouterr().err


def test_every_model_makes_each_rate_of_its_panels_once():
    rates = list_rates(taxi_finetuning.Settings())
    assert {variant for places in PLACES.values() for _, variant, _ in places} == set(rates)
    assert all(len(of_one) == len(set(of_one)) and RATE in of_one for of_one in rates.values())
    assert next(iter(rates)) == BASE
    deep = taxi_finetuning.Settings(panels=("layers", "learning rate, 12 layers"))
    assert {variant.layers for variant in list_rates(deep)} == {2, 4, 8, 12}
    assert len(list_rates(deep)[DEEP]) > len(list_rates(deep)[BASE]) == 1


def test_edits_at_two_rates_differ_in_nothing_else():
    options = taxi_finetuning.Settings()
    one, other = (edit_settings(options, DEEP, rate) for rate in (0.01, 0.1))
    assert one.settings_as_data() == other.settings_as_data()
    assert {name: one.configs[name].learning_rate for name in one.editors} != {
        name: other.configs[name].learning_rate for name in other.editors
    }


def test_an_unknown_panel_is_refused():
    with pytest.raises(ValueError, match="panels must be some of 'learning rate'"):
        taxi_finetuning.Settings(panels=(*PANELS, "width"))


def test_each_other_corpus_lacks_one_property_of_the_corpus_that_binds():
    whole = vars(taxi_contexts.CORPORA[taxi_contexts.WHOLE])
    for name, documents in taxi_contexts.CORPORA.items():
        differences = {k.split("_")[0] for k, v in vars(documents).items() if whole[k] != v}
        assert len(differences) == (name != taxi_contexts.WHOLE)


def test_contexts_are_read_in_as_many_taxonomies_as_are_asked_for():
    options = taxi_contexts.Settings(seeds=4, other_seeds=2, table_seeds=3, path="somewhere")
    corpora = taxi_contexts.list_corpora(options)
    assert set(corpora) == {*taxi_contexts.CORPORA, taxi_contexts.TABLES}
    assert taxi_contexts.list_corpora(taxi_contexts.Settings()) == [*taxi_contexts.CORPORA]
    runs = {corpus: taxi_contexts.list_runs(options, corpus) for corpus in corpora}
    counts = {taxi_contexts.WHOLE: 4, taxi_contexts.TABLES: 3}
    for corpus, those in runs.items():
        assert [seed for _, seed in those] == [*range(1, 1 + counts.get(corpus, 2))]
    names = [run.name for those in runs.values() for run, _ in those]
    assert len(names) == len(set(names))
    for corpus in corpora:
        made, _ = taxi_contexts.model_settings(options, corpus, *runs[corpus][0])
        assert (made.world.path == "somewhere") == (corpus == taxi_contexts.TABLES)
        assert made.documents == taxi_contexts.CORPORA.get(corpus, taxi_contexts.DOCUMENTS)
