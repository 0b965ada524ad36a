"""The man page and the completion scripts of `share/` are what the commands are today."""

import re
import shutil
import subprocess

import pytest
from tool_modules import ROOT, load_tool

from wireproof.commands.table import COMMANDS

share = load_tool("tools/share.py")


def test_the_files_are_those_of_the_commands() -> None:
    """`make share` writes them anew."""
    written = {name: (ROOT / name).read_text("utf-8") for name in share.shared_files()}

    assert written == share.shared_files()


def test_the_page_has_every_command_and_its_options() -> None:
    page = (ROOT / share.MAN).read_text("utf-8")
    sections = re.findall(r'^\.SS "wireproof ([\w\\-]+)"$', page, re.MULTILINE)

    assert [name.replace("\\-", "-") for name in sections] == list(COMMANDS)
    assert r"\fB\-\-spec\-rev N\fR" in page


@pytest.mark.process
@pytest.mark.skipif(shutil.which("groff") is None, reason="groff was not found")
def test_groff_has_nothing_to_say_about_the_page() -> None:
    command = ["groff", "-man", "-Tascii", "-ww", "-z", str(ROOT / share.MAN)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert done.stderr == ""
