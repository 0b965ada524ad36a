"""`make affected`: a change selects the tests that it can break, and leaves the others out."""

import functools
from types import ModuleType

import pytest
from tool_modules import ROOT, load_tool

pytestmark = pytest.mark.slow

HTML = "reports/tests/render/test_html.py"
FRAMES = "kit/tests/nsq/wire/test_nsq_frames.py"


@functools.cache
def tool() -> ModuleType:
    """Load the tool once: it remembers the import graph, and what it has read of each file."""
    return load_tool("tools/affected.py")


@functools.cache
def affected(*changed: str) -> list[str]:
    tests: list[str] = tool().find_affected(changed)
    return tests


def test_a_module_affects_the_tests_that_import_it_however_indirectly() -> None:
    assert HTML in affected("reports/wireproof_reports/render/html.py")
    assert HTML in affected("spec/wireproof_spec/record.py")
    assert FRAMES not in affected("reports/wireproof_reports/render/html.py")


def test_a_module_of_a_program_affects_the_tests_that_start_it() -> None:
    serving = affected("reference_impl/wireproof_reference_impl/iggy/serve.py")
    assert "reference_impl/tests/iggy/test_iggy_serve.py" in serving
    assert "kit/tests/commands/test_cli_view.py" in affected("kit/wireproof/view/failure.py")


def test_the_law_of_a_protocol_affects_its_tests_alone() -> None:
    tests = affected("spec/wireproof_spec/oms/catalogue/document.toml")
    assert "kit/tests/oms/test_oms_fuzz.py" in tests
    assert "reference_impl/tests/nsq/core/test_channel.py" not in tests


def test_a_support_module_affects_the_tests_that_use_it() -> None:
    tests = affected("kit/tests/support/scripted_peer.py")
    assert "kit/tests/nsq/wire/test_nsq_connection.py" in tests
    assert "kit/tests/core/test_judge.py" not in tests


def test_a_changed_test_is_run_alone() -> None:
    assert affected(FRAMES) == [FRAMES]


def test_the_lock_of_the_environment_affects_all_tests() -> None:
    rooms = ("spec", "kit", "reference_impl", "reports")
    tests = [path for room in rooms for path in (ROOT / room / "tests").rglob("test_*.py")]
    assert affected("uv.lock") == [str(path.relative_to(ROOT)) for path in sorted(tests)] != []
