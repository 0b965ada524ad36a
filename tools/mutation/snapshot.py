"""A copy of the sources that stays as it is while mutants are tried."""

import hashlib
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    "spec/wireproof_spec",
    "kit/wireproof_kit",
    "kit/wireproof",
    "reference_impl/wireproof_reference_impl",
    "suites/wireproof_suites",
    "reports/wireproof_reports",
)


def take(tree: Path, source: Path = ROOT) -> None:
    """Copy the project's packages side by side into a new folder."""
    for package in PACKAGES:
        name = package.rpartition("/")[2]
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source / package, tree / name, ignore=ignored)


def fingerprint(source: Path = ROOT) -> str:
    """Return a hash over the sources; outcomes for another hash are outdated."""
    digest = hashlib.sha256()
    for package in PACKAGES:
        for path in sorted((source / package).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(str(path.relative_to(source)).encode() + b"\0")
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def is_whole(folder: Path) -> bool:
    """Return True if a folder has a complete snapshot: its mark is written last."""
    return (folder / "fingerprint").exists()


def renew(folder: Path, source: Path = ROOT) -> Path:
    """Return the snapshot in a folder; if the sources have changed, replace the folder."""
    mark = folder / "fingerprint"
    if not mark.exists() or mark.read_text() != fingerprint(source):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        take(folder / "tree", source)
        mark.write_text(fingerprint(source))
    return folder / "tree"
