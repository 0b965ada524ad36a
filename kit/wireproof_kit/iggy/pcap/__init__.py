"""scapy layers of Iggy as the published text has it; only with the extra ``pcap``.

Written from the published text and from what a real server was seen to send, never from the
schemas of `wireproof_spec.iggy`: the two readers are there to catch each other.
"""
