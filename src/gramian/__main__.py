"""`python -m gramian` is the command `gramian`."""

from gramian.cli import main

main()
