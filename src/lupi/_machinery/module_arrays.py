"""Modules as arrays by name, and back."""

import dataclasses
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

import equinox as eqx
import jax
import numpy as np

from lupi.errors import UserError

Module = TypeVar("Module", bound=eqx.Module)


def arrays_of(module: Any, prefix: str) -> dict[str, np.ndarray]:
    """All arrays of a module, by name, such as `family.prior.means`; none of nothing."""
    leaves = jax.tree_util.tree_leaves_with_path(module)
    return {
        prefix + jax.tree_util.keystr(path).lstrip("."): np.asarray(leaf) for path, leaf in leaves
    }


POSITIVE = ("scales", "widths", "amplitude", "length")
"""What arrays are called that no module can do with otherwise."""


def module_of(
    kind: type[Module],
    arrays: Mapping[str, np.ndarray],
    prefix: str,
    complaint: str,
    common: Mapping[str, int],
) -> Module | None:
    """The module that arrays of this prefix were made of; none of no arrays.

    Refused, with the complaint in front, where something is missing, has another shape than what
    it belongs to, or is no finite number. `common` are sizes, by name, that all of it has.
    """
    named = {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
    if not named:
        return None
    try:
        return _made(kind, named, "", common)
    except _UnfitError as unfit:
        remedy = "restore the file or train the model again."
        raise UserError(f"{complaint}: {unfit}: {remedy}") from None


class _UnfitError(Exception):
    pass


def _made(
    kind: type[eqx.Module], named: Mapping[str, np.ndarray], prefix: str, common: Mapping[str, int]
) -> Any:
    hints, values = typing.get_type_hints(kind, include_extras=True), {}
    sizes = dict(common)  # of others by name, those of the parts are their own
    for field in dataclasses.fields(kind):
        name, hint = prefix + field.name, hints[field.name]
        inner = [one for one in (hint, *typing.get_args(hint)) if _is_module(one)]
        if inner and any(other.startswith(f"{name}.") for other in named):
            values[field.name] = _made(inner[0], named, f"{name}.", common)
        elif inner and type(None) in typing.get_args(hint):
            values[field.name] = None
        elif name not in named:
            raise _UnfitError(f"there is no {name}")
        else:
            values[field.name] = _checked(name, named[name], hint, sizes)
    return kind(**values)


def _is_module(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, eqx.Module)


def _checked(name: str, array: np.ndarray, hint: Any, sizes: dict[str, int]) -> np.ndarray:
    names = (typing.get_args(hint) or (hint,))[0].dim_str.split()
    dimensions = [one for one in names if not one.startswith("*")]  # of one, not of many
    if array.ndim != len(dimensions):
        raise _UnfitError(f"expected {len(dimensions)} dimensions at {name}, found {array.ndim}")
    for dimension, size in zip(dimensions, array.shape, strict=True):
        expected = int(dimension) if dimension.isdecimal() else size
        if sizes.setdefault(dimension, expected) != size:
            raise _UnfitError(f"expected {dimension} {sizes[dimension]} at {name}, found {size}")
    if array.dtype.kind not in "fiub":
        raise _UnfitError(f"expected numbers at {name}, found {array.dtype}")
    if not np.isfinite(array).all():
        raise _UnfitError(f"{name} holds numbers that are not finite")
    if name.rpartition(".")[2] in POSITIVE and not (array > 0).all():
        raise _UnfitError(f"{name} holds numbers that are not positive")
    return array.astype(np.float32)
