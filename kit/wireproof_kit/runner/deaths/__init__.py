"""The deaths of a target during a run: who caused them, and how the target comes back."""
