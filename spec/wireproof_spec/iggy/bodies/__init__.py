"""The bodies of Iggy commands and their responses, one module for each group of commands."""
