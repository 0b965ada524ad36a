"""The example client as a driver, with faults and variants: `serve.py`'s counterpart.

``python -m wireproof_reference_impl.iggy.drive --fault NAME``
"""

import sys
from collections.abc import Sequence

from wireproof_reference_impl.client_command import run_client
from wireproof_reference_impl.command import Presets
from wireproof_reference_impl.fault_lock import find_lock
from wireproof_reference_impl.iggy.client.driver import Driver


def main(argv: Sequence[str]) -> int:
    """Run the example Iggy client as a driver, or list its faults; return the exit code.

    A bad option gives one sentence and exit code 2.
    """
    return run_client(argv, "Iggy", Driver, _presets)


def _presets() -> Presets:
    from wireproof_reference_impl.iggy.client_presets import FAULTS, VARIANTS
    from wireproof_reference_impl.iggy.faulty import clients

    return Presets(FAULTS, VARIANTS, find_lock(clients.__file__))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
