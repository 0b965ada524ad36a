"""Cases that use a shared topic, repeated in its third partition and on an upgraded topic.

A broker may break a rule only in one partition or on one kind of topic. Everything sent and
accepted is as in the case whose id begins the id.
"""

from wireproof_suites.nsq.http import test_pub_ext as http_pub_ext
from wireproof_suites.nsq.http import test_refusal as http_refusal
from wireproof_suites.nsq.http import test_request_headers as http_request_headers
from wireproof_suites.nsq.http import test_trace as http_trace
from wireproof_suites.nsq.parser import test_lengths as parser_lengths
from wireproof_suites.nsq.parser import test_stream as parser_stream
from wireproof_suites.nsq.partition import test_error as partition_error
from wireproof_suites.nsq.publish import test_error as publish_error
from wireproof_suites.nsq.publish import test_header as publish_header
from wireproof_suites.nsq.publish import test_pub_ext as publish_pub_ext
from wireproof_suites.nsq.publish import test_trace as publish_trace
from wireproof_suites.nsq.steps.places import repeat_elsewhere
from wireproof_suites.nsq.subscribe import test_subscribe as subscribe
from wireproof_suites.nsq.trace import test_message_id as message_id
from wireproof_suites.nsq.trace import test_pub_trace as pub_trace

globals().update(
    repeat_elsewhere(
        http_pub_ext,
        http_refusal,
        http_request_headers,
        http_trace,
        parser_lengths,
        parser_stream,
        partition_error,
        publish_error,
        publish_header,
        publish_pub_ext,
        publish_trace,
        subscribe,
        message_id,
        pub_trace,
    )
)
