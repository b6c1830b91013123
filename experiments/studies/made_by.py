"""Which edits on disk are those that an experiment asked for, among others of the same runs."""

from collections.abc import Callable

from testbed.engine.catalogue import whose_options
from testbed.run.settings import as_plain_data
from testbed.settings import EditSettings


def config_matcher(settings: EditSettings) -> Callable[[dict], bool]:
    """Whether a config.json is of such edits: the same settings, whatever the seed, of the same editors.

    Returns:
        What `testbed.scores.gather.gather_results` takes for `where`.
    """
    shared = settings.settings_as_data()

    def is_match(config: dict) -> bool:
        editor, seed = config["editor"], config["settings"]["seed"]
        if editor not in settings.editors or config["settings"] != shared | {"seed": seed}:
            return False
        method_settings = settings.configs.get(whose_options(editor).options)
        return (
            method_settings is None
            or as_plain_data(method_settings) == config["method"]["settings"]["config"]
        )

    return is_match
