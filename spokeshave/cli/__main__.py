"""`python -m spokeshave.cli`, where the script is not on the path."""

from spokeshave.cli.main import main

main()
