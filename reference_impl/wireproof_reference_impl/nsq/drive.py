"""The example client as a driver, with faults and variants: `serve.py`'s counterpart.

``python -m wireproof_reference_impl.nsq.drive --fault NAME``
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence

from wireproof_reference_impl.command import PresetParser, Presets, run
from wireproof_reference_impl.nsq.client.driver import drive
from wireproof_reference_impl.overrides import apply

_DESCRIPTION = (
    "Run the example NSQ client as a driver on standard input and output, until the input ends."
)


def main(argv: Sequence[str]) -> int:
    """Read the options, then list or drive; a bad option is one sentence and exit code 2."""
    parser = PresetParser("python -m wireproof_reference_impl.nsq.drive", _DESCRIPTION)
    return run(argv, parser, _drive, presets=_presets)


def _presets() -> Presets:
    from wireproof_reference_impl.nsq.client_presets import FAULTS, VARIANTS

    return FAULTS, VARIANTS


def _drive(arguments: argparse.Namespace) -> int:
    if arguments.fault or arguments.variant:
        from wireproof_reference_impl.nsq import client_presets

        apply(client_presets.overrides(arguments.fault, arguments.variant))
    asyncio.run(drive())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
