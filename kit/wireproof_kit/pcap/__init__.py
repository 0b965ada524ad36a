"""Captures of exchanges, and what the protocols' scapy layers share; only with the extra ``pcap``.

scapy is GPL-2.0-only. It is imported here and in the protocols' own ``pcap`` folders alone, and
nothing outside of them imports those but when a user asks for what they make.
"""
