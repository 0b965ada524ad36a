"""The properties that a target reports, without those that name hosts."""

import re
from collections.abc import Iterator

from wireproof_spec.record import TargetRecord

_OF_HOSTS = re.compile("host|address|listen|pid|path|dir", re.IGNORECASE)
"""What a target says of the machine it runs on stays with the bundle."""


def target_facts(target: TargetRecord) -> Iterator[tuple[str, str]]:
    """Yield names and values: the target's URL, and what it reports as ``target.NAME``."""
    yield "target", target.url
    for name, value in target.fingerprint.items():
        if not _OF_HOSTS.search(name):
            yield f"target.{name}", value
