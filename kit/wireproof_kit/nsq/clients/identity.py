"""The fields of IDENTIFY that a client sends."""

import json
from collections.abc import Iterator

from wireproof_kit.clients.story import Story
from wireproof_kit.nsq.clients.events import Commanded
from wireproof_spec.strict_json import JsonValue


def list_identities(story: Story) -> Iterator[dict[str, JsonValue]]:
    """Yield the JSON fields of each IDENTIFY that the client sent."""
    for event in story.of(Commanded, lambda event: event.name == "IDENTIFY"):
        try:
            fields: object = json.loads(event.body)
        except (ValueError, RecursionError):
            continue
        if isinstance(fields, dict):
            yield fields
