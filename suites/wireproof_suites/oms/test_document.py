"""Any document: names once, strings printable, names that are nearly those of the text."""

from wireproof_kit.case import case
from wireproof_kit.observation import Observation
from wireproof_kit.oms.capture import Capture


@case("oms/document/unique-name", clause="oms.document.unique-name")
def test_unique_name(capture: Capture, document_name: str) -> Observation:
    """No dictionary in the document contains the same name twice."""
    return capture.observe(document_name, "oms.document.unique-name")


@case("oms/document/printable", clause="oms.document.printable")
def test_printable(capture: Capture, document_name: str) -> Observation:
    """Every string in the document, including names, contains only printable characters."""
    return capture.observe(document_name, "oms.document.printable")


@case("oms/document/known-name", clause="oms.document.known-name")
def test_known_name(capture: Capture, document_name: str) -> Observation:
    """The document contains no name that looks like a misspelling of a standard name."""
    return capture.observe(document_name, "oms.document.known-name")
