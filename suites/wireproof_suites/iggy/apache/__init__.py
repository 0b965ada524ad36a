"""Cases of generation apache, by interface: Apache Iggy's wire with headers of 256 bytes."""
