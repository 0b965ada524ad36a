"""The page on error codes is the one that its tool makes of the catalogue."""

from tool_modules import ROOT, load_tool


def test_the_page_is_up_to_date() -> None:
    tool = load_tool("tools/levels/error_codes.py")
    page = (ROOT / "docs" / "error-codes.md").read_text("utf-8")
    assert page == "\n".join(tool.page()) + "\n"


def test_every_row_says_what_is_accepted() -> None:
    rows = [line.split(" | ") for line in load_tool("tools/levels/error_codes.py").page()]
    cells = [row for row in rows if row[-1].startswith("`nsq/")]
    assert len(cells) > 30
    assert all(row[0].removeprefix("| ") and row[1] for row in cells)
