"""``python -m wireproof_reference_impl.iggy.client``: the example client as a driver."""

import sys

from wireproof_reference_impl.driver_loop import main
from wireproof_reference_impl.iggy.client.driver import Driver

if __name__ == "__main__":
    sys.exit(main(Driver))
