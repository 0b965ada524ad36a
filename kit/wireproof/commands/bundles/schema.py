"""``wireproof schema``: the JSON Schemas of what the kit writes for programs."""

import json
from typing import Any

import click
import msgspec

from wireproof.fuzzing.events import FuzzEvent
from wireproof.options.lazy_group import Command
from wireproof.view.events import EVENTS, DiffEvent, RunEvent
from wireproof.view.output import echo
from wireproof.view.passing import PASSING_SCHEMA, DeviationEvent, TrafficEvent
from wireproof.view.selftest import SelftestEvent, TrialEvent
from wireproof_spec.record import FORMAT, BundleRecord

DIALECT = "https://json-schema.org/draft/2020-12/schema"
SCHEMAS: dict[str, tuple[Any, int, str]] = {
    "bundle": (BundleRecord, FORMAT, "A line of a bundle"),
    "run": (RunEvent, EVENTS, "A line of run, client or judge with --json"),
    "fuzz": (FuzzEvent, EVENTS, "A line of fuzz with --json"),
    "diff": (DiffEvent, EVENTS, "The line of diff with --json"),
    "proxy": (DeviationEvent | TrafficEvent, EVENTS, "A line of proxy with --json"),
    "selftest": (TrialEvent | SelftestEvent, EVENTS, "A line of selftest with --json"),
}
"""What each schema describes: its type, the version of the format, and a title."""

EXAMPLES = (
    ("wireproof schema bundle", "the schema of each line of a bundle"),
    ("wireproof schema run > run.schema.json", "the schema of each line of run --json"),
)


@click.command("schema", cls=Command, examples=EXAMPLES)
@click.argument("kind", type=click.Choice(tuple(SCHEMAS)))
def schema(kind: str) -> None:
    """Print the JSON Schema of each line of a bundle, or of the events of --json.

    Fields may be added without a new version: readers leave alone what they do not know.
    """
    echo(json.dumps(make_schema(kind), indent=2))


def make_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of each line of that kind; see `SCHEMAS`."""
    described, version, title = SCHEMAS[kind]
    made = msgspec.json.schema(described)
    if kind == "proxy":
        shapes = made.pop("anyOf")
        made = {"anyOf": [*shapes, PASSING_SCHEMA], **made}
        made.pop("discriminator", None)
    return {
        "$schema": DIALECT,
        "$id": f"urn:wireproof:{kind}:{version}",
        "title": f"{title}, version {version}",
        **made,
    }
