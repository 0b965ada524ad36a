"""The page on the levels of generation apache has the figures that the readers' files give."""

import re
from pathlib import Path

from tool_modules import ROOT, load_tool

PAGE = ROOT / "docs" / "levels-apache.md"
BELOW = "iggy.apache"


def test_the_page_names_what_both_readers_hold_otherwise() -> None:
    tool = load_tool("tools/levels/agreement.py")
    folder = Path(__file__).parent
    a, b = (tool.read_assignment(folder / f"apache-{name}.jsonl") for name in "ab")
    ours = tool.our_levels(all_origins=True, below=BELOW)
    seen = sorted(ours.keys() & a.keys() & b.keys())
    assert set(seen) == a.keys() == b.keys()

    def kappa(one: dict[str, str], other: dict[str, str]) -> str:
        return f"{tool.kappa([(one[name], other[name]) for name in seen]):.2f}"

    page = " ".join(PAGE.read_text("utf-8").split())
    assert f"the {len(seen)} clauses" in page
    assert f"is {kappa(ours, a)} with reader a and {kappa(ours, b)} with reader b" in page
    assert f"that of the readers themselves is {kappa(a, b)}." in page
    apart = {name for name in seen if a[name] == b[name] != ours[name]}
    assert f"In {len(apart)} clauses both readers agree" in page
    listed: dict[str, tuple[str, str]] = {}
    for row in PAGE.read_text("utf-8").splitlines():
        if row.startswith("| `"):
            cells = row.strip("| ").split(" | ")
            names = re.findall(r"`([\w.-]+)`", cells[0])
            listed |= {f"{BELOW}.{name}": (cells[1], cells[2]) for name in names}
    shown = {name: (ours[name].replace("none", "observed"), a[name]) for name in apart}
    assert listed == shown
