"""The commands that read bundles and start no broker."""
