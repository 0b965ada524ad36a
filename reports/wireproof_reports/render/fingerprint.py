"""What is said of the target in every report, without properties that name hosts."""

import re
from collections.abc import Iterator

from wireproof_spec.record import HeaderRecord

ROLES = ("producer", "consumer")
NO_DRIVER = "none: judged by its connections alone"

_OF_HOSTS = re.compile("host|address|listen|pid|path|dir", re.IGNORECASE)
"""What a target says of the machine it runs on stays with the bundle."""


def target_facts(header: HeaderRecord) -> Iterator[tuple[str, str]]:
    """Yield names and values: the target's URL, and what it reports as ``target.NAME``."""
    target = header.target
    yield "target", target.title
    for name, value in (target.fingerprint | client_facts(header)).items():
        if not _OF_HOSTS.search(name):
            yield f"target.{name}", value


def client_facts(header: HeaderRecord) -> dict[str, str]:
    """Return names and values: a client's role, driver and command; nothing for other targets."""
    target = header.target
    if not target.is_client():
        return {}
    claims = {name: claim.state for name, claim in header.claims.items()}
    played = [role for role in ROLES if claims.get(f"client-{role}") == "shown"]
    told = target.fingerprint
    driver = " ".join(filter(None, (told.get("name"), told.get("version")))) or "yes"
    return {
        "role": " and ".join(played),
        "driver": driver if "driver" in told else NO_DRIVER,
        "command": target.url.partition(":")[2],
    }
