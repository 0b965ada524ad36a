"""Which revisions of the law a kit judges by."""

from wireproof_kit.errors import UsageFault
from wireproof_spec.clauses.catalogue import Catalogue


def check_revision(catalogue: Catalogue, revision: int | None) -> None:
    """Check that the kit can judge by a revision of the catalogue of clauses; None is valid.

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
