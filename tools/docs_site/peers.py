"""Known peers: what recorded bundles of real brokers, systems and clients show of each clause."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from page import Page, code, page, table, words

from wireproof.commands.bundles.judge import Terms, judge_again
from wireproof_kit.bundle.file import Bundle, read_bundle
from wireproof_reports.wording import VERDICT_WORDS
from wireproof_spec.record import CaseRecord

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "docs" / "peers"
PATH = "peers/index.md"


@dataclass(frozen=True, slots=True)
class Peer:
    """A recorded bundle, judged again by today's law."""

    bundle: str
    name: str
    explained: tuple[str, ...]
    recorded: Bundle
    records: tuple[CaseRecord, ...]

    @property
    def anchor(self) -> str:
        """The anchor of the peer in the page of all peers."""
        return re.sub(r"[^a-z0-9]+", "-", self.bundle.removesuffix(".jsonl.gz").lower())


@cache
def load_peers() -> tuple[Peer, ...]:
    """Return the recorded peers that were judged; fuzz campaigns have no cases."""
    files = sorted(PEERS.glob("*/*.jsonl.gz"))
    pages = {file.name: file.read_text("utf-8") for file in sorted(PEERS.glob("*.md"))}
    found: list[Peer] = []
    for file in files:
        bundle = read_bundle(file)
        if bundle.cases:
            name = file.relative_to(PEERS).as_posix()
            named = [each for each, text in pages.items() if name in text]
            near = [each for each, text in pages.items() if f"{file.parent.name}/" in text]
            told = tuple(named or near)
            records = tuple(judge_again(bundle, Terms()).records)
            found.append(Peer(name, _name(file, bundle), told, bundle, records))
    return tuple(found)


def _name(file: Path, bundle: Bundle) -> str:
    """Return name and version as the peer gives them, else the name of the bundle's folder."""
    shown = bundle.header.target.fingerprint
    version = shown.get("version", "")
    folder = re.sub(r"-\d[\d.]*$", "", file.parent.name).replace("-", " ")
    name = " ".join(filter(None, (shown.get("name") or folder, version)))
    place = file.name.partition(".")[0]
    return f"{name}, {place}" if place in ("cluster", "standalone") else name


def pages() -> Iterator[Page]:
    """Yield the page that lists all peers."""
    rows = [
        (
            f'<span id="{peer.anchor}"></span>[{words(peer.name)}]({peer.bundle})',
            peer.recorded.header.target.protocol,
            _tally([record.verdict for record in peer.records]),
            ", ".join(f"[{name.removesuffix('.md')}]({name})" for name in peer.explained),
        )
        for peer in load_peers()
    ]
    others = sorted(file.name for file in PEERS.glob("*.md"))
    lines = [
        "# Known peers",
        "",
        "Real brokers, systems and clients that were judged. Each bundle is judged again by "
        "the law of this version; the pages explain each deviation.",
        *table(("peer", "protocol", "cases", "explained in"), rows),
        "All pages on peers:",
        "",
        *(f"- [{_title(PEERS / name)}]({name})" for name in others),
    ]
    yield page(PATH, lines)


def _title(file: Path) -> str:
    return file.read_text("utf-8").partition("\n")[0].removeprefix("# ")


def of_clause(clause: str, up: str) -> Iterator[str]:
    """Yield a table of the peers that were judged by a clause; ``up`` leads to the page of all."""
    rows: list[Sequence[str]] = []
    for peer in load_peers():
        records = [record for record in peer.records if record.clause == clause]
        judged = [record.verdict for record in records if record.verdict != "unsupported"]
        if judged:
            name = f"[{words(peer.name)}]({up}{PATH}#{peer.anchor})"
            rows.append((name, _tally(judged), _shown(records)))
    if rows:
        yield ""
        yield "**Known peers**"
        yield from table(("peer", "cases", "what failing cases showed"), rows)


def _tally(verdicts: Sequence[str]) -> str:
    counts = Counter(verdicts)
    return ", ".join(
        f"{counts[name]:,} {word.title}" for name, word in VERDICT_WORDS.items() if counts[name]
    )


def _shown(records: Sequence[CaseRecord], most: int = 3) -> str:
    """Return the commonest observations of failing cases."""
    seen = Counter(record.observation for record in records if record.verdict == "fail")
    told = [code(observation) for observation, _ in seen.most_common(most)]
    more = len(seen) - most
    return ", ".join(told) + (f" and {more} more" if more > 0 else "")
