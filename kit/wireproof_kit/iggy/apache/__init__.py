"""Apache Iggy's wire with headers of 256 bytes: client, session, probes and ledger.

It shares the transcript, the waits and the connections of the kit with the earlier generations,
and nothing of their frames.
"""

from typing import Final

APACHE: Final = "apache"
"""The name of the generation, as the user gives it."""
