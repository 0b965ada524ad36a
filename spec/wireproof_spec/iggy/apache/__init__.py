"""The grammar of generation `apache`: Apache Iggy's wire with headers of 256 bytes.

The published text is the six pages "Binary Protocol" of 2026-08-20, protocol 0.11.0; the peer is
repository apache/iggy, commit cc269ef, crate iggy_binary_protocol 0.11.0-edge.4. What lasts from
one protocol number to the next stands here once; what moves with the number (login, the head of a
poll, header bytes that get a meaning) is data in an `Envelope`, one module for each number in
`envelopes`. All integers are little endian.
"""
