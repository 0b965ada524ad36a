"""The forms in which a target speaks: told by the user, or bound once for a run by probes."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from wireproof_kit.iggy.observe.polled import COUNT, PARTITION_OFFSET_COUNT, Head
from wireproof_spec.iggy.generation import CreateForm, Generation

StoredOffsetForm: TypeAlias = Literal["text", "short"]

TEXT: Final = "text"
SHORT: Final = "short"
OWN_HEAD: Final[dict[Generation, Head]] = {
    "published": COUNT,
    "tagged": PARTITION_OFFSET_COUNT,
}
OWN_STORED_OFFSET: Final[dict[Generation, StoredOffsetForm]] = {
    "published": SHORT,
    "tagged": TEXT,
}


@dataclass(slots=True)
class Forms:
    """The forms of requests and responses where the texts and the generations differ.

    ``generation`` decides how requests name a consumer, and how streams, topics and clients are
    described. ``create`` is the form of requests that create; ``counts_status`` is True if the
    length of a success counts the status; ``head`` stands in front of polled messages;
    ``stored_offset`` is the form of the answer about a consumer's offset.
    """

    generation: Generation = "published"
    create: CreateForm = "commit"
    counts_status: bool = False
    head: Head = COUNT
    stored_offset: StoredOffsetForm = SHORT

    def take_generation(self, generation: Generation) -> None:
        """Take a generation, with the head and the stored offset of its real servers."""
        self.generation = generation
        self.head = OWN_HEAD[generation]
        self.stored_offset = OWN_STORED_OFFSET[generation]
