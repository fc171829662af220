"""`python -m lupi`."""

from lupi.cli import main

main()
