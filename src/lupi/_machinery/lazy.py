"""Packages whose names are imported when they are used: help and reading do not wait for JAX."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package, from the module that each of its names lives in.

    The modules themselves are names of the package too, as they are once imported; one that is to
    be listed has itself as its home.
    """
    modules = set(homes.values())

    def get(name: str) -> Any:
        if name in homes and homes[name] != name:
            return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: sorted(homes)
