"""``python -m wireproof_reports.site SITE``: writes the pages for data made on a cluster."""

import sys
from collections.abc import Sequence
from pathlib import Path

from wireproof_reports.site.writer import SiteFault, write


def main(arguments: Sequence[str]) -> int:
    """Write the HTML pages of a site from its data; return 0, or 2 after one sentence."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: python -m wireproof_reports.site SITE", file=sys.stderr)
        return 2
    try:
        print(write(Path(arguments[0])))
    except SiteFault as error:
        print(f"wireproof: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(
            f"wireproof: {error.filename}: cannot be written ({error.strerror})", file=sys.stderr
        )
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
