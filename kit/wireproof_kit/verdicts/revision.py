"""Which revisions of the law a kit knows."""

from wireproof_kit.errors import UsageFault
from wireproof_spec.catalogue import Catalogue


def refuse_later(catalogue: Catalogue, revision: int | None) -> None:
    """Raise an error for a specification revision that this kit does not know.

    Raises:
        UsageFault: it is later than each of the catalogue's.
    """
    latest = max(catalogue.revisions.values())
    if revision is not None and revision > latest:
        raise UsageFault(
            f"--spec-rev {revision}: this kit knows {catalogue.protocol} up to revision {latest}; "
            "name that one, or use the newer kit that knows the other"
        )
