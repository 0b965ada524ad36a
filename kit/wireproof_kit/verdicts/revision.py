"""Which revisions of the law a kit judges by."""

from wireproof_kit.errors import UsageFault
from wireproof_spec.clauses.catalogue import Catalogue


def check_revision(catalogue: Catalogue, revision: int | None) -> None:
    """Raise an error for a revision of the law that this kit does not judge by.

    Raises:
        UsageFault: the revision is later than every revision of the catalogue, or was withdrawn.
    """
    latest = max(catalogue.revisions.values())
    if revision is not None and revision <= catalogue.withdrawn:
        raise UsageFault(
            f"--spec-rev {revision}: revision {revision} of the law of {catalogue.protocol} was "
            f"withdrawn, because it called things must that no text says; use revision "
            f"{catalogue.withdrawn + 1} or later"
        )
    if revision is not None and revision > latest:
        raise UsageFault(
            f"--spec-rev {revision}: this kit knows {catalogue.protocol} up to revision {latest}; "
            "name that one, or use the newer kit that knows the other"
        )
