"""The drivers of Apache Iggy's own SDKs: how each is built, and its command.

Registries carry those for Python and Rust. `WIREPROOF_IGGY_CHECKOUT=FOLDER` names a checkout of
the project's source, from which the others are built; nothing is written there.
"""

import os
import shlex
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from ready_drivers import BUILT, EXAMPLES, CannotFetch, Driver, python, run

CHECKOUT = "WIREPROOF_IGGY_CHECKOUT"
GO_MODULE = "github.com/apache/iggy/foreign/go@v0.9.0-edge.4"


def crate() -> str:
    """Build the driver of crate iggy; its crates are kept, for the first build takes minutes."""
    target = BUILT / "rust"
    folder = EXAMPLES / "rust" / "apache_iggy"
    run(folder, "cargo", "build", "--locked", CARGO_TARGET_DIR=str(target))
    return shlex.quote(str(target / "debug" / "apache_iggy_driver"))


def go(sdk: Path) -> str:
    """Build the driver and the SDK together, in a workspace that is made anew."""
    folder, program = BUILT / "apache_iggy_go", BUILT / "apache_iggy_driver_go"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    source = EXAMPLES / "go" / "apache_iggy"
    own = {"GOTOOLCHAIN": "local", "GOWORK": str(folder / "go.work")}
    run(folder, "go", "work", "init", str(source), str(sdk), GOTOOLCHAIN="local")
    run(folder, "go", "work", "edit", "-replace", f"{GO_MODULE}={sdk}", **own)
    run(source, "go", "build", "-o", str(program), ".", **own)
    return shlex.quote(str(program))


def node(sdk: Path) -> str:
    """Compile a copy of the SDK; the driver finds it through the environment."""
    folder = BUILT / "apache_iggy_node"
    shutil.copytree(
        sdk,
        folder,
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("node_modules", "dist"),
    )
    if not (folder / "dist" / "index.js").is_file():
        run(folder, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
        run(folder, "npx", "tsc", "-p", "tsconfig.json")
    program = EXAMPLES / "javascript" / "apache_iggy_driver.mjs"
    return shlex.join(["env", f"APACHE_IGGY_SDK={folder}", "node", str(program)])


def java(sdk: Path) -> str:
    """Compile the SDK's source with the driver."""
    folder = BUILT / "java"
    shutil.copytree(
        EXAMPLES / "java", folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("target")
    )
    own = folder / "apache-iggy"
    run(own, "mvn", "-q", "-B", f"-Diggy.checkout={sdk.parents[1]}", "package")
    return shlex.join(["java", "-jar", str(own / "target" / "apache-iggy-driver.jar")])


def from_source(language: str, build: Callable[[Path], str]) -> Callable[[], str]:
    """Return a function that builds a driver from the checkout's folder of a language."""

    def build_from_checkout() -> str:
        named = os.environ.get(CHECKOUT, "")
        sdk = Path(named).resolve() / "foreign" / language
        if not named or not sdk.is_dir():
            raise CannotFetch(f"{CHECKOUT} names no checkout of Apache Iggy")
        return build(sdk)

    return build_from_checkout


SDKS: Mapping[str, Driver] = {
    "apache_iggy_python": python("apache_iggy"),
    "apache_iggy_rust": Driver(crate, "Rust"),
    "apache_iggy_go": Driver(from_source("go", go), "Go"),
    "apache_iggy_node": Driver(from_source("node", node), "Node.js"),
    "apache_iggy_java": Driver(from_source("java", java), "Maven"),
}
