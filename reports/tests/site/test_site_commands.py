"""The commands that a site of real bundles shows, run as far as they get without a peer."""

import json
import shlex
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from cli_process import wireproof
from fleet import Fleet
from large_fleet import TODAY, write_site
from oracle import evidence
from playwright.sync_api import Page
from site_fixture import HOSTILE, write_data
from site_visit import open_browser

from wireproof_reports.pipeline.bundles.incoming import read_in
from wireproof_reports.pipeline.columns import BATCH
from wireproof_reports.pipeline.rows import Row
from wireproof_reports.site import write
from wireproof_spec.record_file import unpack

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
PEERS = Path(__file__).resolve().parents[3] / "docs" / "peers"
BUNDLES = (
    "classic-nsqd/standalone",  # nearly all cases unsupported: nothing was sent
    "youzan-nsqd-1.5.7/cluster",
    "iggy-tagged/server",  # failures over HTTP, whose address is not in the URL
    "nsq-clients/pynsq",
    "openmessaging-rocketmq/native",
)
EACH = 3
"""Lines of each kind that are run of each bundle."""
CASE = f"'nsq/publish/{HOSTILE}'"

pytestmark = [
    pytest.mark.process,
    pytest.mark.long,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]


def flat(name: str) -> str:
    """Return a name for a bundle that none of another folder has."""
    return f"{name.removesuffix('.jsonl.gz').replace('/', '-')}.jsonl.gz"


def fleet_of(paths: list[Path]) -> Fleet:
    """Return bundles as the rows that an ingest makes of them."""
    tables: dict[str, list[Row]] = {name: [] for name in Fleet.__annotations__}
    for path in paths:
        with path.open("rb") as file:
            read = read_in(flat(str(path.relative_to(PEERS))), unpack(file))
        shared = {**read.shared, "protocol": read.glance.protocol, "day": read.glance.day}
        for name, rows in tables.items():
            rows.extend({BATCH: 1, **shared, **row} for row in read.rows[name])
    return Fleet(**tables)


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with open_browser(CHROMIUM) as page:
        yield page


@pytest.fixture(scope="module")
def lines(page: Page, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the lines that the pages show for some cells of each bundle and way."""
    site = tmp_path_factory.mktemp("site")
    rows = fleet_of([PEERS / f"{name}.jsonl.gz" for name in BUNDLES])
    write_site(site, rows)
    cells: dict[tuple[object, object], list[str]] = {}
    for row in evidence(rows, TODAY):
        cells.setdefault((row[-3], row[-1]), []).append("|".join(map(str, row[:4])))
    found = []
    for keys in cells.values():
        for key in keys[:: max(len(keys) // EACH, 1)][:EACH]:
            at = f"#protocol={key.partition('|')[0]}&cell={quote(key)}"
            page.goto("about:blank")
            page.goto(f"{(site / 'matrix.html').as_uri()}{at}")
            told = page.locator(".detail .evidence").inner_text().splitlines()
            found.append(told[told.index("See it again") + 1])
    return found


@pytest.fixture
def nobody() -> Iterator[str]:
    """Yield an address at which nothing listens, and nothing will."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{held.getsockname()[1]}"


def test_the_lines_of_a_site_find_their_cases_and_fail_only_to_connect(
    lines: list[str], nobody: str, tmp_path: Path
) -> None:
    ways: dict[str, int] = {}
    for name in BUNDLES:
        (tmp_path / flat(name)).symlink_to(PEERS / f"{name}.jsonl.gz")
    for line in lines:
        program, way, *words = shlex.split(line)
        ways[way] = ways.get(way, 0) + 1
        protocol = next(word for word in words if "/" in word).partition("/")[0]
        url = f"{protocol}://{nobody}" if protocol != "oms" else "oms+exec:./no-such-adapter"
        if way == "replay":
            words += ["--to", f"{url}?http={nobody}"]
        words = [url if word == "URL" else word for word in words]
        words = ["./no-such-client" if word == "CMD" else word for word in words]
        done = wireproof(way, *words, cwd=tmp_path)

        assert program == "wireproof"
        assert done.code == 2, (line, done.out, done.err)
        said = done.err.strip().splitlines()[-1]
        assert "cannot reach" in said or "./no-such-" in said, (line, said)

    assert ways.keys() == {"replay", "run", "client"}
    assert min(ways.values()) >= EACH


@pytest.mark.parametrize(
    ("role", "again", "line"),
    [
        ("proxy", "judge", "wireproof judge 'a b.jsonl'"),
        ("client", "client", f"wireproof client --protocol nsq --exec CMD {CASE}"),
        ("broker", "run", f"wireproof run URL {CASE}"),
        ("broker", "hazardous", f"wireproof run URL {CASE} --hazardous"),
        ("proxy", "", "wireproof judge 'a b.jsonl'"),  # of an older ingest
        ("", "", f"wireproof run URL {CASE}"),
    ],
)
def test_what_cannot_be_sent_again_has_another_command(
    page: Page, tmp_path: Path, role: str, again: str, line: str
) -> None:
    write_data(tmp_path)
    answer = tmp_path / "data" / "evidence.json"
    document = json.loads(answer.read_text("utf-8"))
    document["rows"][0][-2:] = [role, again]
    answer.write_text(json.dumps(document), "utf-8")
    write(tmp_path)

    page.goto((tmp_path / "matrix.html").as_uri())
    page.locator("button.cell.fails").click()
    facts = page.locator(".detail .evidence").inner_text()

    assert line in facts.splitlines()
