"""Programs that the kit starts and talks to: clients under test, and drivers of systems."""
