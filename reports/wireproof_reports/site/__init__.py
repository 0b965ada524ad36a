"""The static site of a history: pages that need no server and contact no other machine."""

from wireproof_reports.site.writer import SiteFault, write

__all__ = ["SiteFault", "write"]
