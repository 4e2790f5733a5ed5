"""`python -m kgsync`."""

from kgsync.cli import main

main()
