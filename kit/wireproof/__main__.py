"""``python -m wireproof``: the same as the ``wireproof`` command."""

import sys

from wireproof.main import main

if __name__ == "__main__":
    sys.exit(main())
