"""The command line: one file per command, found by its name; no algorithm lives here."""
