"""Cases repeated for a second group of consumers, and for messages that are delivered again.

What is sent and accepted is as in the case whose id begins the id.
"""

from wireproof_suites.oms import test_delay as delay
from wireproof_suites.oms import test_expire as expire
from wireproof_suites.oms import test_message_sent as message_sent
from wireproof_suites.oms import test_partition as partition
from wireproof_suites.oms import test_priority as priority
from wireproof_suites.oms import test_qos as qos
from wireproof_suites.oms import test_redelivery as redelivery
from wireproof_suites.oms import test_round_trip as round_trip
from wireproof_suites.oms import test_store as store
from wireproof_suites.oms import test_transaction as transaction
from wireproof_suites.oms.places import repeat_in_second_group, repeat_when_returned

globals().update(repeat_in_second_group(delay, expire, partition, qos, redelivery, transaction))
# A system may deliver a message again from another partition, or after it has expired: no text
# says which, so the cases of these are not repeated there. Nor does one say that a message that
# comes again still has the delay of its first delivery, which RocketMQ 5.5 drops, nor in which
# order rejected messages come again.
globals().update(
    repeat_when_returned(
        message_sent,
        priority,
        round_trip,
        store,
        without=[round_trip.test_delay_time, priority.test_default_order],
    )
)
