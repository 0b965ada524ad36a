"""Judges everything that arrives, in whichever case it arrives; knows no protocol."""
