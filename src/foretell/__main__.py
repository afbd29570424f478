"""`python -m foretell` is the command line."""

from foretell.cli import main

main()
