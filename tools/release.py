"""Check, build and tag a release; nothing is ever pushed.

    python tools/release.py [--check] [--test] [--tag] [--out DIR]

The checks: nothing is uncommitted, version and changelog agree, the tag is new. Then wheel and
sdist are built twice from the commit, in two folders whose files have other modes and times, and
must have the same hashes. DIR (default `dist`) gets them, `CONTENTS.txt` and `SHA256SUMS`.

--check  only the checks
--test   run `.ci/run` before the build; else it is only named
--tag    make the tag, annotated, on the commit that was built
"""

import argparse
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ".ci/run"
VERSION = "kit/wireproof_kit/version.py"
STATED = {
    "reference_impl/wireproof_reference_impl/nsq/wire/answers.py": 'OWN_VERSION = "{}-wireproof"',
    "share/man/man1/wireproof.1": '"wireproof {}"',
    "kit/wireproof/commands/setup/ci/github-actions.yml": "wireproof-{}-py3-none-any.whl",
    "kit/wireproof/commands/setup/ci/gitlab-ci.yml": "wireproof-{}-py3-none-any.whl",
}
"""What else states the version, and how: files that cannot import it."""
UMASKS = (0o022, 0o077)
SUMS, CONTENTS = "SHA256SUMS", "CONTENTS.txt"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name in ("--check", "--test", "--tag"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    wish = parser.parse_args(arguments)
    version = read_version()
    objections = list(find_objections(version))
    if objections:
        print(
            *(f"release {version}: {objection}" for objection in objections),
            sep="\n",
            file=sys.stderr,
        )
        return 1
    print(f"release {version}: ready to be built")
    if wish.check:
        return 0
    if not wish.test:
        print(f"the tests were not run: {TESTS}, or --test")
    elif subprocess.run([ROOT / TESTS], cwd=ROOT, check=False).returncode:
        return fail(f"{TESTS} failed; nothing was built")
    commit = git("rev-parse", "HEAD")
    code = build(commit, wish.out)
    if code == 0 and wish.tag:
        git("tag", "--annotate", f"v{version}", "--message", f"wireproof {version}", commit)
        print(f"tagged v{version}; pushed nothing")
    return code


def fail(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 1


def read_version() -> str:
    found = re.search(r'KIT_VERSION = "([^"]+)"', (ROOT / VERSION).read_text("utf-8"))
    if found is None:
        raise SystemExit(f"{VERSION} states no version")
    return found[1]


def find_objections(version: str) -> Iterator[str]:
    """Yield what keeps this commit from being released, a sentence each."""
    if changed := git("status", "--porcelain"):
        yield f"{len(changed.splitlines())} files are not committed"
    yield from judge_changelog((ROOT / "CHANGELOG.md").read_text("utf-8"), version)
    for name, form in STATED.items():
        if form.format(version) not in (ROOT / name).read_text("utf-8"):
            yield f"{name} does not state this version (as {form.format(version)})"
    if git("tag", "--list", f"v{version}"):
        yield f"the tag v{version} exists already"


def judge_changelog(text: str, version: str) -> Iterator[str]:
    _, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    if not sections or not sections[0].startswith("[Unreleased]"):
        yield "CHANGELOG.md does not begin with a section [Unreleased]"
        return
    if re.search(r"^[-*] ", sections[0], re.MULTILINE):
        yield f"CHANGELOG.md has entries under [Unreleased]; move them to [{version}]"
    newest = sections[1].partition("\n")[0] if len(sections) > 1 else "none"
    if not re.fullmatch(rf"\[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d", newest):
        yield f"the newest section of CHANGELOG.md is {newest}, not [{version}] with a date"


def build(commit: str, out: Path) -> int:
    """Build twice; write wheel, sdist, contents and checksums if both builds are the same."""
    with tempfile.TemporaryDirectory() as folder:
        builds = [build_once(commit, Path(folder) / str(umask), umask) for umask in UMASKS]
        first, second = ({path.name: digest(path) for path in files} for files in builds)
        if first != second:
            return fail(f"two builds of {commit} differ: {first} and {second}")
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        for path in builds[0]:
            shutil.copyfile(path, out / path.name)
    (out / CONTENTS).write_text("".join(describe(commit, sorted(out.iterdir()))), "utf-8")
    sums = "".join(f"{digest(path)}  {path.name}\n" for path in sorted(out.iterdir()))
    (out / SUMS).write_text(sums, "utf-8")
    print(f"built twice, alike, in {out}:\n{sums}", end="")
    return 0


def build_once(commit: str, place: Path, umask: int) -> list[Path]:
    """Build sdist and wheel, the wheel from the sdist, of a commit unpacked in a folder."""
    archive = subprocess.run(
        ["git", "archive", commit], cwd=ROOT, capture_output=True, check=True
    ).stdout
    before = os.umask(umask)
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tree:
            for member in tree:
                member.mtime += umask  # the times of files must not show in what is built
                member.mode &= ~umask
                tree.extract(member, place / "tree", filter="data")
        environment = {
            **os.environ,
            "SOURCE_DATE_EPOCH": git("show", "-s", "--format=%ct", commit),
        }
        command = [find_uv(), "build", "--quiet", "--out-dir", str(place / "out")]
        subprocess.run([*command, str(place / "tree")], env=environment, check=True)
    finally:
        os.umask(before)
    return sorted(path for path in (place / "out").iterdir() if path.suffix in (".whl", ".gz"))


def find_uv() -> str:
    own = ROOT / ".cache" / "tools" / "bin" / "uv"
    found = shutil.which("uv") or (str(own) if own.exists() else None)
    if found is None:
        raise SystemExit("uv was not found; `make setup` brings it")
    return found


def describe(commit: str, files: list[Path]) -> Iterator[str]:
    """Yield the list of contents: each file of wheel and sdist with its size in bytes."""
    yield f"commit {commit}\n"
    for path in files:
        members = sorted(wheel_members(path) if path.suffix == ".whl" else sdist_members(path))
        yield f"\n{path.name}: {len(members)} files, {sum(size for _, size in members)} bytes\n"
        yield from (f"{size:>10}  {name}\n" for name, size in members)


def wheel_members(path: Path) -> list[tuple[str, int]]:
    with zipfile.ZipFile(path) as archive:
        return [(each.filename, each.file_size) for each in archive.infolist()]


def sdist_members(path: Path) -> list[tuple[str, int]]:
    with tarfile.open(path) as archive:
        return [(each.name, each.size) for each in archive if each.isfile()]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
