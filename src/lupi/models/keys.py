"""Random numbers by name."""

import zlib

import jax
from jaxtyping import PRNGKeyArray


def key_for(key: PRNGKeyArray, name: str) -> PRNGKeyArray:
    """The key of whatever has this name, out of one that several share.

    So what a part draws depends on what it is called, not on which others draw before it; and one
    key may be handed to all that is random in a step.
    """
    return jax.random.fold_in(key, code_of(name))


def code_of(name: str) -> int:
    """A number for a name, the same everywhere and always."""
    return zlib.crc32(name.encode())
