"""The bodies of Iggy commands and of their answers, a module for each group of commands."""
