"""Fuzzing OpenMessaging systems: requests with valid, odd and broken messages."""
