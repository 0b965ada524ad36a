"""Commands for the first day: check the machine, write the files of a project, get help."""
