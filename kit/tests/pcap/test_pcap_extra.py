"""scapy is imported in the folders of its extra alone, and nothing else needs it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGES = (
    "spec/wireproof_spec",
    "kit/wireproof_kit",
    "kit/wireproof",
    "reference_impl/wireproof_reference_impl",
    "suites/wireproof_suites",
    "reports/wireproof_reports",
)
FOLDERS = ("kit/wireproof_kit/pcap", "kit/wireproof_kit/nsq/pcap", "kit/wireproof_kit/iggy/pcap")

WITHOUT = """
import importlib, pkgutil, sys
sys.modules["scapy"] = None
import wireproof, wireproof_kit
failed = []
for package in (wireproof, wireproof_kit):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + ".", onerror=str):
        if found.name.endswith("__main__"):
            continue
        try:
            importlib.import_module(found.name)
        except ImportError as error:
            assert "scapy" in str(error), error
            failed.append(found.name)
print("\\n".join(failed))
"""


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return {name.partition(".")[0] for name in names}


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_scapy_is_imported_in_its_folders_alone(package: str) -> None:
    users = {
        path.parent.relative_to(ROOT).as_posix()
        for path in (ROOT / package).rglob("*.py")
        if "scapy" in imported(path)
    }

    assert users == {folder for folder in FOLDERS if folder.startswith(f"{package}/")}


def test_nobody_imports_all_of_scapy() -> None:
    for folder in FOLDERS:
        for path in (ROOT / folder).glob("*.py"):
            assert "scapy.all" not in path.read_text("utf-8"), path


@pytest.mark.process
def test_without_scapy_only_those_folders_cannot_be_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    failed = done.stdout.split()
    assert failed
    assert all(".pcap." in name for name in failed)
    folders = {name.rpartition(".")[0].replace(".", "/") for name in failed}
    assert folders == {folder.removeprefix("kit/") for folder in FOLDERS}
