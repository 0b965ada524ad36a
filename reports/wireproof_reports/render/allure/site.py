"""The site that Allure makes from results, without anything that contacts other machines.

Allure 3 writes a call to an analytics service into every page, and no setting disables it; it is
removed afterwards. A policy in each page forbids anything else that a later version may load.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from wireproof_reports.render.allure.case_result import PAGE, PREFIX
from wireproof_reports.render.allure.categories import settings_file
from wireproof_reports.render.allure.folder import Captures, no_captures, write
from wireproof_reports.render.allure.generator import Generator, ask, find_generator
from wireproof_spec.private_file import make_private

GENERATION_S = 900
MOST_IN_ONE_FILE = 16 * 1024 * 1024
"""Bytes of results; above it the site is many files, which only a web server can show."""

HISTORY = "history.jsonl"
TITLE = "wireproof"
MARKS = ("test-results.json", "widgets", "history", PAGE)
"""What tells an earlier site from a folder of something else."""

_POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'self\' file: data: blob: '
    "'unsafe-inline' 'unsafe-eval'; base-uri 'self'; form-action 'none'\">"
)
_CALL = re.compile(
    r"<script[^>]*\bsrc=\"https?://[^\"]*\"[^>]*>\s*</script>"
    r"|<script>(?:(?!</script>)[\s\S])*?\bgtag\((?:(?!</script>)[\s\S])*?</script>"
)
_HEAD = re.compile(r"<head(?:\s[^>]*)?>")


class SiteFault(Exception):
    """Raised if Allure's site cannot be made; ``str()`` is one sentence for the user."""


def write_site(bundle: Path, out: Path, captures: Captures = no_captures) -> None:
    """Write Allure's site of a bundle, ``index.html``, and our own page of the clauses.

    An earlier site in ``out`` is replaced; its history is carried over.

    Raises:
        BundleFault: the bundle cannot be read.
        NoAllure: no Allure was found.
        SiteFault: Allure fails, or ``out`` contains other files.
        OSError: the site cannot be written.
    """
    refuse_foreign(out)
    generator = find_generator(os.environ)
    with tempfile.TemporaryDirectory(prefix="wireproof-allure-") as work:
        results, made = Path(work) / "results", Path(work) / "site"
        write(bundle, results, captures)
        _MAKERS[generator.major](generator, results, made, out)
        for page in made.rglob("*.html"):
            page.write_text(remove_calls(page.read_text("utf-8")), encoding="utf-8")
        shutil.copyfile(results / PAGE, made / PAGE)
        if out.exists():
            shutil.rmtree(out)
        shutil.copytree(made, out)
        for each in out.rglob("*"):
            if each.is_file():
                make_private(each)


def refuse_foreign(out: Path) -> None:
    """Check that a folder may be replaced: it is empty or contains an earlier Allure site.

    Raises:
        SiteFault: the folder contains something else.
    """
    if not out.exists():
        return
    if not out.is_dir():
        raise SiteFault(f"{out} is a file; expected a folder for the site")
    if any(out.iterdir()) and not any((out / mark).exists() for mark in MARKS):
        raise SiteFault(f"{out} holds something else than an Allure site; name another folder")


def remove_calls(page: str) -> str:
    """Return an HTML page without requests to other machines, and with a policy against them."""
    quiet = _CALL.sub("", page)
    return _HEAD.sub(lambda head: head[0] + _POLICY, quiet, count=1)


def _third(generator: Generator, results: Path, made: Path, out: Path) -> None:
    history = made.parent / HISTORY
    if (out / HISTORY).exists():
        shutil.copyfile(out / HISTORY, history)
    settings = made.parent / "allurerc.json"
    settings.write_bytes(settings_file())
    command = [generator.command, "awesome", str(results), "--output", str(made)]
    command += ["--config", str(settings), "--cwd", str(made.parent), "--report-name", TITLE]
    _generate([*command, "--history-path", str(history), *_one_file(results)], made)
    if history.exists():
        shutil.copyfile(history, made / HISTORY)


def _second(generator: Generator, results: Path, made: Path, out: Path) -> None:
    if (out / "history").is_dir():
        shutil.copytree(out / "history", results / "history")
    command = [generator.command, "generate", str(results), "--clean", "--output", str(made)]
    _generate(command, made)
    one_file = _one_file(results)
    if one_file:  # which alone would leave no history for the next time
        history = made.parent / "history"
        shutil.copytree(made / "history", history)
        _generate([*command, *one_file], made)
        shutil.copytree(history, made / "history", dirs_exist_ok=True)


_MAKERS: Mapping[int, Callable[[Generator, Path, Path, Path], None]] = {2: _second, 3: _third}


def _one_file(results: Path) -> list[str]:
    size = sum(file.stat().st_size for file in results.glob(f"{PREFIX}*"))
    return ["--single-file"] if size <= MOST_IN_ONE_FILE else []


def _generate(command: list[str], made: Path) -> None:
    try:
        done = ask(command, {}, seconds=GENERATION_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SiteFault(f"{command[0]} cannot be run: {error}") from error
    if done.returncode or not (made / "index.html").exists():
        said = f"{done.stderr}\n{done.stdout}".strip().splitlines() or ["it gave no reason"]
        raise SiteFault(f"{command[0]} ended with {done.returncode}: {said[0].strip()}")
