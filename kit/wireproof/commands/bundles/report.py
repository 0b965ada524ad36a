"""``wireproof report``: reports of bundles, without running anything."""

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import click

from wireproof.options.confirmation import confirm_place
from wireproof.options.global_options import manner
from wireproof.options.lazy_group import Command
from wireproof.view.output import echo
from wireproof_kit.errors import UsageFault
from wireproof_kit.protocols import resolve
from wireproof_spec.record_file import open_bundle

WRITERS = {
    "html": "wireproof_reports.render.html:write",
    "junit": "wireproof_reports.render.junit:write",
    "md": "wireproof_reports.render.markdown:write",
    "statement": "wireproof_reports.render.statement:write",
    "badge": "wireproof_reports.render.badge:write",
    "allure": "wireproof.view.allure:write_results",
    "allure-html": "wireproof.view.allure:write_site",
    "pcap": "wireproof.view.captures:write_failing",
    "pcap-all": "wireproof.view.captures:write_all",
}
ENDINGS = {"html": ".html", "junit": ".xml", "md": ".md", "statement": ".html", "badge": ".json"}
BEGINNING = b'{"kind":"header"'
"""The first bytes of a bundle, decompressed."""
FOLDERS = ("allure", "allure-html", "pcap", "pcap-all")
"""Reports that are folders, not files."""

EXAMPLES = (
    ("wireproof report out/run.jsonl", "write an HTML page beside the bundle"),
    ("wireproof report out/run.jsonl --html report.html --junit junit.xml", "write these files"),
    ("wireproof report out/*.jsonl --html pages/", "write one page for each bundle into a folder"),
    (
        "wireproof report out/run.jsonl --pcap captures/",
        "write captures of the failing cases for Wireshark",
    ),
    (
        "wireproof report out/run.jsonl --cause nsq/publish/trace/one",
        "write one page about this failure, to be sent to whoever can mend it",
    ),
    (
        "wireproof report out/run.jsonl --allure-html site/",
        "write Allure's site, if Allure is installed",
    ),
)

_FILE = click.Path(path_type=Path)
_FOLDER = click.Path(path_type=Path)


@click.command("report", cls=Command, examples=EXAMPLES)
@click.argument("bundles", nargs=-1, required=True, type=_FILE, metavar="BUNDLE...")
@click.option("--html", type=_FILE, metavar="FILE", help="HTML page, self-contained.")
@click.option("--junit", type=_FILE, metavar="FILE", help="JUnit XML for CI viewers.")
@click.option("--md", type=_FILE, metavar="FILE", help="Compatibility statement in Markdown.")
@click.option(
    "--statement", type=_FILE, metavar="FILE", help="Compatibility statement as an HTML page."
)
@click.option(
    "--badge", type=_FILE, metavar="FILE", help="Badge as SVG, with a JSON file beside it."
)
@click.option("--allure", type=_FOLDER, metavar="DIR", help="Allure results.")
@click.option("--allure-html", type=_FOLDER, metavar="DIR", help="Allure's own site.")
@click.option("--pcap", type=_FOLDER, metavar="DIR", help="Capture of each failing case.")
@click.option("--pcap-all", type=_FOLDER, metavar="DIR", help="Capture of every case.")
@click.option(
    "--cause",
    metavar="ID",
    help="Only this failure: a page to send. ID: a root cause, a case, or what replay takes.",
)
def report(bundles: tuple[Path, ...], *, cause: str | None, **files: Path | None) -> None:
    """Write reports of bundles. For several bundles every FILE is a folder.

    Without an option an HTML page is written beside each bundle. For several bundles, DIR gets
    a folder for each. --allure-html needs Allure 3 (Node) or 2 (Java) on this machine. --cause
    writes one HTML page: law, quote, bytes, a script, and how to contest the verdict.
    """
    for folder in filter(Path.is_dir, bundles):
        raise UsageFault(
            f"{folder} is a folder; expected bundles: `wireproof report {folder}/*.jsonl "
            "--html pages/` writes a page for each in it"
        )
    if cause is not None:
        _write_cause(bundles, files, cause)
        return
    asked = {name.replace("_", "-"): path for name, path in files.items() if path is not None}
    written: list[dict[str, str]] = []
    for bundle in bundles:
        places = tuple(_places(bundle, asked, many=len(bundles) > 1))
        refuse_overwriting(dict(places), [bundle])
        for name, out in places:
            write_report(name, bundle, out)
            written.append({"format": name, "bundle": str(bundle), "file": str(out)})
    if manner().json:
        echo(json.dumps(written, indent=2))
    elif not manner().quiet:
        for line in written:
            echo(f"{line['format']:<{_width(written)}} {line['file']}")


def _write_cause(bundles: Sequence[Path], files: Mapping[str, Path | None], cause: str) -> None:
    """Write the page of one root cause.

    Raises:
        UsageFault: several bundles or other reports are asked for, or nothing failed for it.
    """
    from wireproof_reports.bundle_file import BundleFault
    from wireproof_reports.render.html import write_cause

    others = [f"--{name.replace('_', '-')}" for name, path in files.items() if path is not None]
    if len(bundles) > 1 or set(others) - {"--html"}:
        raise UsageFault("--cause: expected one bundle, and no report beside --html FILE")
    (bundle,) = bundles
    refuse_overwriting({"html": files["html"]} if files["html"] else {}, [bundle])
    out = files["html"] or bundle.with_name(f"{_stem(bundle)}.{cause.replace('/', '-')}.html")
    if files["html"] is None:
        confirm_place("cause", out, bundle.parent, "--html")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_cause(bundle, out, cause)
    except BundleFault as error:
        raise UsageFault(str(error)) from error
    except OSError as error:
        raise UsageFault(f"--html {out}: cannot be written ({error.strerror})") from error
    if manner().json:
        echo(json.dumps([{"format": "html", "bundle": str(bundle), "file": str(out)}], indent=2))
    elif not manner().quiet:
        echo(f"html   {out}")


def _width(written: list[dict[str, str]]) -> int:
    return max(6, *(len(line["format"]) for line in written))


def refuse_overwriting(files: Mapping[str, Path], bundles: Sequence[Path] = ()) -> None:
    """Check that no report file is a bundle that is there or is read, nor that of another report.

    Raises:
        UsageFault: it is; a bundle is the evidence, and cannot be made again.
    """
    taken = {bundle.absolute().resolve(): "the bundle" for bundle in bundles}
    for name, path in files.items():
        place = path.absolute().resolve()
        if place in taken:
            raise UsageFault(f"--{name} {path} is the place of {taken[place]}; name another file")
        if name != "bundle" and _is_bundle(path):
            raise UsageFault(f"--{name} {path}: the file there is a bundle; name another file")
        taken[place] = f"--{name}"


def _is_bundle(path: Path) -> bool:
    if not path.is_file():
        return False
    with suppress(OSError, EOFError, ValueError), open_bundle(path) as file:
        return file.read(len(BEGINNING)) == BEGINNING
    return False


def write_report(name: str, bundle: Path, out: Path) -> None:
    """Write one report of a bundle; `name` is the kind of report, such as html.

    Raises:
        UsageFault: the bundle cannot be read or the file cannot be written.
    """
    from wireproof_reports.bundle_file import BundleFault

    if str(out) == "-":
        raise UsageFault(f"--{name} -: expected a file, since stdout has the list of files")
    write: Callable[[Path, Path], object] = resolve(WRITERS[name])
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write(bundle, out)
    except BundleFault as error:
        raise UsageFault(str(error)) from error
    except OSError as error:
        raise UsageFault(f"--{name} {out}: cannot be written ({error.strerror})") from error


def refuse_unwritable(files: Mapping[str, Path], *, folders: Sequence[str] = FOLDERS) -> None:
    """Check before a run that its report files can be written; leave no file behind.

    ``folders`` are the options of the command that name a folder.

    Raises:
        UsageFault: a path is a folder instead of a file or the other way round, lies below a
            file, or cannot be written.
    """
    for name, path in files.items():
        if name in folders and path.exists() and not path.is_dir():
            raise UsageFault(f"--{name} {path}: expected a folder, found a file")
        if name not in folders and path.is_dir():
            raise UsageFault(f"--{name} {path}: expected a file, found a folder")
        above = next((parent for parent in path.absolute().parents if parent.exists()), None)
        if above is not None and not above.is_dir():
            raise UsageFault(f"--{name} {path}: {above} is no folder")
        try:
            _try_to_write(path, above)
        except OSError as error:
            raise UsageFault(f"--{name} {path}: cannot be written ({error.strerror})") from error


def _try_to_write(path: Path, above: Path | None) -> None:
    """Open an existing file, or else make a file without a name where the path will be.

    Permissions alone do not tell: a file system may be read-only, or take no files at all.
    """
    if path.is_file():
        with path.open("ab"):
            return
    if path.exists() and not path.is_dir():
        return  # a device, or a pipe whose opening would wait for a reader
    with tempfile.TemporaryFile(dir=path if path.is_dir() else above):
        return


def _places(bundle: Path, asked: Mapping[str, Path], *, many: bool) -> Iterator[tuple[str, Path]]:
    if not asked:
        page = bundle.with_suffix(ENDINGS["html"])
        confirm_place("html", page, bundle.parent, "--html")
        yield "html", page
    for name, path in asked.items():
        if name in FOLDERS:
            yield name, path / _stem(bundle) if many else path
        elif path.is_dir() or (many and not path.suffix):
            yield name, path / f"{bundle.stem}{ENDINGS[name]}"
        elif many:
            raise UsageFault(f"--{name} {path}: expected a folder for several bundles")
        else:
            yield name, path


def _stem(bundle: Path) -> str:
    return bundle.name.removesuffix(".gz").removesuffix(".jsonl")
