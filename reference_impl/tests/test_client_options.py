"""The example clients as modules take no options, and say so."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.process


@pytest.mark.parametrize("protocol", ["nsq", "iggy"])
def test_an_option_is_refused_in_one_sentence(protocol: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"wireproof_reference_impl.{protocol}.client", "--fault", "x"],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )

    assert done.returncode == 2
    assert done.stdout == ""
    assert "no option is known here, found '--fault'" in done.stderr
    assert len(done.stderr.splitlines()) == 1
