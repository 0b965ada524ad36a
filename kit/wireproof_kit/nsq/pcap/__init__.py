"""scapy layers of NSQ and of its published extensions; only with the extra ``pcap``.

Written from the published texts and from what real brokers were seen to send, never from the
schemas of `wireproof_spec.nsq`: the two readers are there to catch each other.
"""
