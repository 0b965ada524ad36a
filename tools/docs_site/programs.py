"""The page of the interface for programs: what `wireproof.__all__` names, by `inspect`."""

import inspect
import textwrap
from collections.abc import Iterator

from page import Page, page, prose

import wireproof

PATH = "reference/programs.md"


def pages() -> Iterator[Page]:
    """Yield the page, or nothing while the package exports no names."""
    names: list[str] = sorted(getattr(wireproof, "__all__", ()))
    if names:
        yield page(PATH, _lines(names))


def _lines(names: list[str]) -> Iterator[str]:
    yield "# The interface for programs"
    yield ""
    yield "A program may import these names from `wireproof`:"
    yield f"{', '.join(f'`{name}`' for name in names)}."
    for name in names:
        yield from _member(name, getattr(wireproof, name), 2)


def _member(name: str, member: object, depth: int) -> Iterator[str]:
    yield from ("", f"{'#' * depth} {name} {{#{name}}}", "")
    if callable(member):
        yield from ("```python", f"{name.rpartition('.')[2]}{_signature(member)}", "```", "")
    yield from _docstring(inspect.getdoc(member) or "")
    if inspect.isclass(member):
        for own, value in vars(member).items():
            if not own.startswith("_") and (callable(value) or isinstance(value, property)):
                yield from _member(f"{name}.{own}", value, depth + 1)


def _signature(member: object) -> str:
    try:
        found = inspect.signature(member)  # type: ignore[arg-type]  # callable, as asked before
    except (TypeError, ValueError):
        return "(…)"
    one_line = str(found)
    if len(one_line) < 70:
        return one_line
    inner = "".join(f"    {parameter},\n" for parameter in _parameters(found))
    return f"(\n{inner}){_returned(found)}"


def _parameters(found: inspect.Signature) -> Iterator[str]:
    """Yield parameters as they are written, with the star before those by name alone."""
    starred = False
    for parameter in found.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            starred = True
        elif parameter.kind is parameter.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        yield str(parameter)


def _returned(found: inspect.Signature) -> str:
    if found.return_annotation is inspect.Signature.empty:
        return ""
    return f" -> {inspect.formatannotation(found.return_annotation)}"


def _docstring(text: str) -> Iterator[str]:
    """Yield a docstring as paragraphs; names between double backticks are code."""
    for paragraph in text.split("\n\n"):
        head, _, rest = paragraph.partition("\n")
        if head.rstrip(":") in ("Raises", "Returns", "Args", "Yields") and rest:
            yield from (f"**{head}**", "")
            yield from _entries(textwrap.dedent(rest))
        else:
            yield prose(paragraph)
        yield ""


def _entries(text: str) -> Iterator[str]:
    """Yield the entries of a section, each an item; an indented line goes on."""
    for entry in " ".join(text.split("\n    ")).splitlines():
        name, colon, meaning = entry.partition(": ")
        yield f"- `{name}`: {prose(meaning)}" if colon else f"- {prose(entry)}"
