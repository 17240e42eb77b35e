"""Nothing is done: what the load itself comes to."""

from tests.faults.kinds.base import Kind


class Nothing(Kind):
    """The load alone."""

    name = "nothing"
