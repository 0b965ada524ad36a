"""Cases repeated in another partition, over HTTP, behind other messages, or at a second poll.

What is sent and accepted is as in the case whose id begins the id.
"""

from wireproof_suites.iggy.frame import test_frame as frame
from wireproof_suites.iggy.http import test_http as http
from wireproof_suites.iggy.json import test_headers as json_headers
from wireproof_suites.iggy.json import test_message as json_message
from wireproof_suites.iggy.message import test_checksum as checksum
from wireproof_suites.iggy.message import test_fields as fields
from wireproof_suites.iggy.message import test_headers as headers
from wireproof_suites.iggy.message import test_layout as layout
from wireproof_suites.iggy.message import test_state as state
from wireproof_suites.iggy.poll import test_offset as offset
from wireproof_suites.iggy.poll import test_poll as poll
from wireproof_suites.iggy.send import test_send as send
from wireproof_suites.iggy.steps.places import repeat_in_places

globals().update(
    repeat_in_places(
        frame,
        http,
        json_headers,
        json_message,
        checksum,
        fields,
        headers,
        layout,
        state,
        offset,
        poll,
        send,
    )
)
