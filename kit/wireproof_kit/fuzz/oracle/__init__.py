"""Judges answers, bystanders and resources by what a case was owed."""
