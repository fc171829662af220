"""The names of the ways to judge a model: the `mode` of a record."""

REFINED = " refined"
"""Behind the name of a mode: with the search in the decoder, and not with the encoder alone."""


def points_mode(number: int) -> str:
    """From so many points."""
    return f"points {number}"


def beyond_mode(above: float, most: float) -> str:
    """So far beyond the last point, in horizons; points are of the first third."""
    return f"beyond {above:g} {most:g}"


def shift_mode(name: str) -> str:
    """On systems, or from points, unlike those of training."""
    return f"shift {name}"
