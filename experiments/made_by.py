"""Which edits on disk are those that an experiment asked for, among others of the same runs."""

from collections.abc import Callable

from testbed.engine.catalogue import whose_options
from testbed.run.settings import plain
from testbed.settings import EditSettings


def made_by(settings: EditSettings) -> Callable[[dict], bool]:
    """Whether a config.json is of such edits: the same settings, whatever the seed, of the same editors.

    Returns:
        What `testbed.scores.gather.gather` takes for `where`.
    """
    shared = settings.told()

    def mine(config: dict) -> bool:
        editor, seed = config["editor"], config["settings"]["seed"]
        if editor not in settings.editors or config["settings"] != shared | {"seed": seed}:
            return False
        own = settings.configs.get(whose_options(editor).options)
        return own is None or plain(own) == config["method"]["settings"]["config"]

    return mine
