"""Judging answers, bystanders and resources by what was owed."""
