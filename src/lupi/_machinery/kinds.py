"""Objects in settings: kept as the name of their kind and the values of their fields."""

import dataclasses
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer


def by_kind(what: str, kinds: dict[str, type]) -> Any:
    """A field of a pydantic model for an object of one of these kinds.

    In a file it is `{"kind": name, field: value, ...}`, or only the name.
    """

    def read(value: Any) -> Any:
        if isinstance(value, str):
            value = {"kind": value}
        if isinstance(value, dict):
            kind = value.get("kind")
            if not isinstance(kind, str) or kind not in kinds:
                raise ValueError(f"unknown {what} {kind!r}, expected one of {', '.join(kinds)}")
            try:
                return kinds[kind](**{k: v for k, v in value.items() if k != "kind"})
            except TypeError as error:
                raise ValueError(f"the {what} {kind!r} cannot be made ({error})") from None
        if type(value) not in kinds.values():
            raise ValueError(
                f"expected a known {what} ({', '.join(kinds)}), got {type(value).__name__}: give "
                "it a name in that table of `lupi.registry` first"
            )
        return value

    def write(value: Any) -> dict[str, Any]:
        kind = next(name for name, kind in kinds.items() if type(value) is kind)
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {"kind": kind} | fields

    return Annotated[Any, BeforeValidator(read), PlainSerializer(write)]
