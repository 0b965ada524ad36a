"""Checks that the messages of a partition come in the order in which they were published."""

from wireproof_reference_impl.nsq.client.core.message import Message


class OrderCheck:
    """Checks for one partition that internal ids and offsets of messages never decrease.

    Equal ones are the same message again, since it was not finished.
    """

    def __init__(self) -> None:
        self._id = -1
        self._offset = -1

    def find_fault(self, message: Message) -> str:
        """Return what is out of order in the next message, as text; empty if nothing is."""
        offset = -1 if message.disk_queue_offset is None else message.disk_queue_offset
        fault = ""
        if message.internal_id < self._id:
            fault = f"internal id {message.internal_id} comes after {self._id}"
        elif offset < self._offset:
            fault = (
                f"internal id {message.internal_id}: disk queue offset {offset} "
                f"comes after {self._offset}"
            )
        self._id, self._offset = max(self._id, message.internal_id), max(self._offset, offset)
        return fault
