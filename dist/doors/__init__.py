"""The ways in which users get the command, one module each."""
