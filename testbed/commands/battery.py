"""Try an agent in a kind of world: what every rational agent satisfies."""

from bayes.battery import check_agent
from corpus.errors import InputError
from testbed.console import print_table
from testbed.run.own_world import Origin, find_agent_class, make_own_world
from testbed.settings import BatterySettings


def try_agent(options: BatterySettings) -> None:
    """Print every check with its largest deviation.

    Raises:
        InputError: no such world or agent, or a check that the agent fails.
    """
    world = make_own_world(Origin(options.world, options.seed, options.subjects))
    checks = check_agent(
        world, find_agent_class(options.agent, options.world), options.seed, options.simulated
    )
    rows = [(c.name, f"{c.deviation:.1e}", f"{c.limit:.0e}", "yes" if c.holds else "NO") for c in checks]
    print_table("battery", ("check", "deviation", "allowed", "holds"), rows)
    failed = [check.name for check in checks if not check.holds]
    if failed:
        raise InputError(f"{options.agent} is not rational in {options.world}: {'; '.join(failed)}")
