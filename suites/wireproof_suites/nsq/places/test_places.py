"""Cases repeated in the third partition of a topic and on an upgraded topic, for later clients.

A broker may break a rule only in one partition, on one kind of topic or for later clients.
What is sent and accepted is as in the case whose id begins the id.
"""

from wireproof_suites.nsq.http import test_pub_ext as http_pub_ext
from wireproof_suites.nsq.http import test_refusal as http_refusal
from wireproof_suites.nsq.http import test_request_headers as http_request_headers
from wireproof_suites.nsq.http import test_trace as http_trace
from wireproof_suites.nsq.order import test_in_flight as order_in_flight
from wireproof_suites.nsq.order import test_layout as order_layout
from wireproof_suites.nsq.order import test_redelivery as order_redelivery
from wireproof_suites.nsq.order import test_sequence as order_sequence
from wireproof_suites.nsq.order import test_subscribe as order_subscribe
from wireproof_suites.nsq.parser import test_lengths as parser_lengths
from wireproof_suites.nsq.parser import test_stream as parser_stream
from wireproof_suites.nsq.partition import test_error as partition_error
from wireproof_suites.nsq.partition import test_partition as partition
from wireproof_suites.nsq.partition import test_pipelined as partition_pipelined
from wireproof_suites.nsq.publish import test_error as publish_error
from wireproof_suites.nsq.publish import test_header as publish_header
from wireproof_suites.nsq.publish import test_pub_ext as publish_pub_ext
from wireproof_suites.nsq.publish import test_trace as publish_trace
from wireproof_suites.nsq.steps.places import repeat_elsewhere
from wireproof_suites.nsq.subscribe import test_subscribe as subscribe
from wireproof_suites.nsq.trace import test_in_flight as trace_in_flight
from wireproof_suites.nsq.trace import test_message_id as message_id
from wireproof_suites.nsq.trace import test_pub_trace as pub_trace

globals().update(
    repeat_elsewhere(
        http_pub_ext,
        http_refusal,
        http_request_headers,
        http_trace,
        order_in_flight,
        order_layout,
        order_redelivery,
        order_sequence,
        order_subscribe,
        parser_lengths,
        parser_stream,
        partition,
        partition_error,
        partition_pipelined,
        publish_error,
        publish_header,
        publish_pub_ext,
        publish_trace,
        subscribe,
        message_id,
        trace_in_flight,
        pub_trace,
    )
)
