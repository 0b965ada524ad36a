"""The judge: targets, wire clients, cases, verdicts, bundles, pytest plug-in."""
