"""One command of the command line in each file: parse, call, show."""
