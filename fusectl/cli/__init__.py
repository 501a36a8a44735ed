"""The command line: the only place with input, output and exit codes."""

INTERRUPTED = 130
"""The exit code that a shell gives for SIGINT."""
