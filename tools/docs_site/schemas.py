"""Pages of schemas: the records of a bundle, and the JSON documents of the protocols."""

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

from page import Page, code, page, prose, table

from wireproof.commands.bundles.schema import SCHEMAS, make_schema
from wireproof_kit.protocols import known_protocols
from wireproof_spec.protocol import find_protocol

FOLDER = "reference/schemas"
BUNDLE = "bundle.schema.json"
Schema = Mapping[str, Any]


def bundle_schema() -> Schema:
    """Return the JSON Schema of a line of a bundle."""
    return make_schema("bundle")


def files() -> Mapping[str, str]:
    """Return the files that pages offer for download, by path."""
    return {
        f"{FOLDER}/{kind}.schema.json": json.dumps(make_schema(kind), indent=2) + "\n"
        for kind in SCHEMAS
    }


def pages() -> Iterator[Page]:
    """Yield the list of schemas, the page of bundles and one for each family of documents."""
    families = {
        "driver": resources.files("wireproof_spec.driver"),
        **{name: find_protocol(name).folder() for name in known_protocols()},
    }
    documents = {
        name: sorted(
            (file for file in (folder / "json_schemas").iterdir()), key=lambda file: file.name
        )
        for name, folder in families.items()
        if (folder / "json_schemas").is_dir()
    }
    lines = [
        "# Schemas",
        "",
        "JSON Schemas (Draft 2020-12) of all documents that the kit reads, writes or checks.",
        *table(
            ("schemas", "of"),
            [
                ("[bundle](bundle.md)", "a line of a bundle: what a run records"),
                *(
                    (
                        f"[{name}]({name}.md)",
                        f"{len(found)} documents, such as {code(found[0].name)}",
                    )
                    for name, found in documents.items()
                ),
            ],
        ),
    ]
    yield page(f"{FOLDER}/index.md", lines)
    yield page(f"{FOLDER}/bundle.md", _bundle(bundle_schema()))
    for name, found in documents.items():
        texts = {file.name: file.read_text(encoding="utf-8") for file in found}
        yield page(f"{FOLDER}/{name}.md", _family(name, texts))


def _bundle(schema: Schema) -> Iterator[str]:
    yield "# The records of a bundle"
    yield ""
    yield "A bundle is a file of JSON lines, compressed with gzip or not. The member `kind` says "
    yield f"which record a line holds. The whole schema: [{BUNDLE}]({BUNDLE})."
    yield "Those of the events of `--json`: " + ", ".join(
        f"[{kind}]({kind}.schema.json)" for kind in SCHEMAS if kind != "bundle"
    )
    for name, record in sorted(schema["$defs"].items()):
        yield ""
        yield f"## {name} {{#{name}}}"
        yield ""
        yield prose(record.get("description", ""))
        required: Sequence[str] = record.get("required", ())
        rows = [
            (code(field), _type(of), "" if field in required else _default(of))
            for field, of in record.get("properties", {}).items()
        ]
        yield from table(("member", "type", "default"), rows)


def _type(of: Schema) -> str:
    """Return the type of a member in words, with links to other records."""
    if "$ref" in of:
        name = of["$ref"].rpartition("/")[2]
        return f"[{name}](#{name})"
    if "anyOf" in of:
        return " or ".join(_type(each) for each in of["anyOf"])
    if "enum" in of:
        return " or ".join(code(json.dumps(each)) for each in of["enum"])
    if "const" in of:
        return code(json.dumps(of["const"]))
    kind = str(of.get("type", "any value"))
    if kind == "array":
        if "prefixItems" in of:
            return f"array of {', '.join(_type(each) for each in of['prefixItems'])}"
        return f"array of {_type(of['items'])}" if of.get("items") else kind
    if kind == "object" and isinstance(of.get("additionalProperties"), dict):
        return f"object with values of {_type(of['additionalProperties'])}"
    return kind


def _default(of: Schema) -> str:
    if "default" not in of:
        return "may be absent"
    text = json.dumps(of["default"])
    return code(text) if len(text) < 40 else "a record of defaults"


def _family(name: str, texts: Mapping[str, str]) -> Iterator[str]:
    yield f"# Documents of {name}"
    for file, text in texts.items():
        schema = json.loads(text)
        identifier = f"{name}/{file.removesuffix('.json')}"
        yield ""
        yield f"## {identifier} {{#{file.removesuffix('.json')}}}"
        yield ""
        told = (schema.get("title", ""), schema.get("description", ""))
        yield prose(". ".join(part.rstrip(".") for part in told if part)) + "."
        yield from ("", "```json", text.rstrip(), "```")
