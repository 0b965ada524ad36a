"""Starting a run: what was asked, and the references it is asked of."""
