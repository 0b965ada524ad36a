"""An example client as a command: read options, then list faults and variants, or drive."""

import argparse
import asyncio
from collections.abc import Callable, Sequence

from wireproof_reference_impl.command import PresetParser, Presets, run
from wireproof_reference_impl.driver_loop import Program, Say, drive
from wireproof_reference_impl.overrides import Override, apply
from wireproof_reference_impl.preset import find_preset

_DESCRIPTION = (
    "Run the example client of {} as a driver on standard input and output, until the input ends."
)


def run_client(
    argv: Sequence[str],
    protocol: str,
    make: Callable[[Say], Program],
    presets: Callable[[], Presets],
) -> int:
    """Read the options of an example client, then list its faults or run it as a driver.

    Return the exit code: 2 for a bad option, after one sentence. `presets` returns the faults and
    variants, which are imported only when they are needed.
    """

    def start(arguments: argparse.Namespace) -> int:
        if arguments.fault or arguments.variant:
            apply(list_overrides(presets(), arguments.fault, arguments.variant))
        asyncio.run(drive(make))
        return 0

    program = f"python -m wireproof_reference_impl.{protocol.lower()}.drive"
    parser = PresetParser(program, _DESCRIPTION.format(protocol))
    return run(argv, parser, start, presets=presets)


def list_overrides(
    presets: Presets, fault_names: Sequence[str], variant_names: Sequence[str]
) -> tuple[Override, ...]:
    """Return the overrides of faults and variants, in the order in which to apply them.

    Raises:
        BadOption: a name that does not exist.
    """
    chosen = [find_preset(presets.variants, "variant", name) for name in variant_names]
    chosen += [find_preset(presets.faults, "fault", name) for name in fault_names]
    return tuple(override for preset in chosen for override in preset.overrides)
