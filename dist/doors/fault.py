"""What makes a release impossible."""


class Fault(Exception):
    """One sentence for whoever makes the release."""
