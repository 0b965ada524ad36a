"""Allure categories: new and known failures, other readings, open cases.

The message of each result begins with its category, because Allure finds results by patterns.
"""

import msgspec

from wireproof_reports.render.allure.result import Status
from wireproof_spec.record import CaseRecord, HeaderRecord

NEW = "new"
KNOWN = "known"
OTHER_READING = "other reading"
UNSTABLE = "unstable"
INCONCLUSIVE = "inconclusive"
KIT_ERROR = "kit error"
WEAKER = "not counted"
UNSUPPORTED = "unsupported"

CATEGORIES: dict[str, tuple[Status, str]] = {
    NEW: ("failed", "New failures"),
    KNOWN: ("skipped", "Known deviations"),
    OTHER_READING: ("passed", "Conforms under another reading"),
    UNSTABLE: ("broken", "Unstable: repeats came out differently"),
    INCONCLUSIVE: ("broken", "Inconclusive: nothing was decided"),
    KIT_ERROR: ("broken", "Kit errors: nothing is said about the target"),
    WEAKER: ("skipped", "Fails at a level, or from an origin, that the run does not count"),
}
"""Each category with the status its results have, and its title."""

_BY_VERDICT = {
    "reading": OTHER_READING,
    "known": KNOWN,
    "unsupported": UNSUPPORTED,
    "inconclusive": INCONCLUSIVE,
    "unstable": UNSTABLE,
    "error": KIT_ERROR,
}


class Category(msgspec.Struct, frozen=True, rename="camel"):
    """An entry of Allure's categories file: a name, and which results belong to it."""

    name: str
    message_regex: str
    matched_statuses: tuple[Status, ...]


def category_of(case: CaseRecord, header: HeaderRecord) -> str:
    """Return the name of a case's Allure category; empty if it needs none.

    As in JUnit, a failure that the run does not count is a category of its own.
    """
    is_counted = header.counts(case.level, case.origin)
    if case.verdict in ("fail", "inconclusive", "unstable") and not is_counted:
        return WEAKER
    return NEW if case.verdict == "fail" else _BY_VERDICT.get(case.verdict, "")


def status_of(category: str) -> Status:
    """Return the Allure status of the results of a category."""
    if category == UNSUPPORTED:
        return "skipped"
    return CATEGORIES[category][0] if category else "passed"


def categories() -> list[Category]:
    """Return Allure's categories with the patterns that match their results."""
    return [
        Category(title, rf"^{name}: [\s\S]*", (status,))
        for name, (status, title) in CATEGORIES.items()
    ]


def categories_file() -> bytes:
    """Return the content of ``categories.json``, which Allure 2 and CI viewers read."""
    return msgspec.json.format(msgspec.json.encode(categories()), indent=2) + b"\n"


def settings_file() -> bytes:
    """Return the content of the settings file from which Allure 3 reads its categories."""
    return msgspec.json.encode({"categories": {"rules": categories()}})
