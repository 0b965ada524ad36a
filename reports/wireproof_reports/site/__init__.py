"""The static site of a history: answers as pages that need no server and call nobody."""

from wireproof_reports.site.writer import SiteFault, write

__all__ = ["SiteFault", "write"]
