"""Who takes part in a comparison, by name: models, rivals, and models with something changed.

`lupi` is a line of the registry and `nearest` one of the table of rivals. Behind a colon stands
what is changed: `lupi:shuffled`, `lupi:noise=0.5`, `lupi:amortised`, `lupi:width=4`,
`np-lupi:way=head`, `np:aggregator=bayesian`, `latent-ode:objective=npml`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, get_args

from lupi.errors import UserError, check_name
from lupi.experiments.controls import WORDS, Control, describe_control
from lupi.models import Aggregator, Way
from lupi.objectives import Elbo
from lupi.registry import MODELS, OBJECTIVES, ModelSettings
from lupi.rivals import RIVALS

CONTROLS = tuple(word for word in WORDS if word != "true")
AMORTISED, NOISE, WIDTH = "amortised", "noise=", "width="
NAMED = {"way": get_args(Way), "aggregator": get_args(Aggregator), "objective": tuple(OBJECTIVES)}
"""What is changed by a name, and the names there are."""

CHANGES = (
    *(*CONTROLS, "noise=0.5", AMORTISED, "width=4"),
    *("way=head", "aggregator=bayesian", "objective=npml"),
)

PALER = {"shuffled": 0.4, "constant": 0.55, "noise": 0.5}
"""How much white the colour of a control has."""


class Contestant(NamedTuple):
    """One of a comparison."""

    name: str
    base: str
    """In the registry, or in the table of rivals."""
    privileged: Control = "true"
    encoder_only: bool = False
    """Whether it is judged without the search in its decoder, where it could be."""
    width: int | None = None
    """Of its hidden layers; None leaves the settings'."""
    way: str | None = None
    """How it uses privileged values; None leaves the settings'."""
    aggregator: str | None = None
    """How it makes one vector of a set of points; None leaves the settings'."""
    objective: str | None = None
    """What training makes small, by its name in the registry; None leaves the settings'."""

    @property
    def is_rival(self) -> bool:
        """Whether there is no process to train."""
        return self.base in RIVALS

    @property
    def uses_privileged(self) -> bool:
        """Whether it learns from privileged values, be they true or not."""
        return not self.is_rival and MODELS[self.base].privileged_size(1) > 0

    @property
    def label(self) -> str:
        """As tables and legends show it."""
        line = RIVALS[self.base] if self.is_rival else MODELS[self.base]
        changed = [] if self.privileged == "true" else [_brief(self.privileged)]
        changed += [] if self.width is None else [f"width {self.width}"]
        changed += [one for one in self._named if one is not None]
        return ", ".join([line.label, *changed])

    @property
    def colour(self) -> str:
        """Of its lines; a control has that of its model, paler."""
        colour = (RIVALS[self.base] if self.is_rival else MODELS[self.base]).colour
        as_it_is = self.privileged == "true" and not any(self._named)
        white = PALER.get(str(self.privileged), 0.0 if as_it_is else 0.3)
        parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
        return "#" + "".join(f"{round((1 - white) * part + white * 255):02x}" for part in parts)

    @property
    def summary(self) -> str:
        """In some words."""
        line = RIVALS[self.base] if self.is_rival else MODELS[self.base]
        if self.privileged == "true":
            return line.summary
        return f"{line.summary}; privileged values {describe_control(self.privileged)}"

    @property
    def _named(self) -> tuple[str | None, ...]:
        """What is changed by a name."""
        return tuple(getattr(self, field) for field in NAMED)

    @property
    def _process(self) -> dict[str, Any]:
        """What is changed of the settings of its process."""
        changed = {
            "hidden_size": self.width,
            "privileged_way": self.way,
            "aggregator": self.aggregator,
        }
        return {name: value for name, value in changed.items() if value is not None}

    @property
    def options(self) -> str:
        """Those of `lupi train` that ask for such a model."""
        given = {f"process.{name.replace('_', '-')}": one for name, one in self._process.items()}
        given |= {} if self.objective is None else {"objective": self.objective}
        return " ".join(f"--{name} {one}" for name, one in ({"model": self.base} | given).items())

    def settings(self, models: Mapping[str, ModelSettings]) -> ModelSettings:
        """What it is made of, given what models without a change are made of."""
        model = models[self.base]
        changed: dict[str, Any] = {"process": model.process.model_copy(update=self._process)}
        if self.objective is not None:
            kind = OBJECTIVES[self.objective]
            # The bound is the one that these models have: that of their preset.
            alike = (one.objective for one in models.values() if isinstance(one.objective, Elbo))
            changed["objective"] = next(alike, Elbo()) if kind is Elbo else kind()
        return model.model_copy(update=changed)


def _brief(control: Control) -> str:
    return control if isinstance(control, str) else f"noise {control:g}"


def contestant(name: str) -> Contestant:
    """The one of that name, or an error that says what names there are."""
    base, *changes = str(name).split(":")
    check_name("model", base, [*MODELS, *RIVALS])
    found = Contestant(name, base)
    for change in changes:
        found = _changed(found, change)
    if changes and found.is_rival:
        raise UserError(f"{name!r}: {base} is no network: nothing of it can be changed.")
    if found.privileged != "true" and not found.uses_privileged:
        others = [other for other in MODELS if Contestant(other, other).uses_privileged]
        raise UserError(
            f"{name!r}: {base} learns from no privileged values, so there is nothing to change in "
            f"them: ask for {others[0]}:{changes[0]}, or for {base}."
        )
    if found.way is not None and not (
        found.uses_privileged and "privileged_way" in type(MODELS[base].process).model_fields
    ):
        raise UserError(
            f"{name!r}: {base} has no way of using privileged values that could be another: ask "
            "for one that learns from them, such as lupi or np-lupi."
        )
    if found.aggregator and "aggregator" not in type(MODELS[base].process).model_fields:
        raise UserError(f"{name!r}: {base} has no aggregator that could be another: leave it out.")
    return found


def _changed(one: Contestant, change: str) -> Contestant:
    if change in CONTROLS:
        return one._replace(privileged=change)  # pyright: ignore[reportArgumentType]
    if change == AMORTISED:
        return one._replace(encoder_only=True)
    for field, names in NAMED.items():
        if change.startswith(f"{field}="):
            value = change.removeprefix(f"{field}=")
            check_name(f"{field} of {one.base}", value, names)
            return one._replace(**{field: value})
    for start, kind in ((NOISE, float), (WIDTH, int)):
        try:
            value = kind(change.removeprefix(start)) if change.startswith(start) else 0
        except ValueError:
            value = 0
        if 0 < value < 10_000:
            return one._replace(**{"privileged" if kind is float else "width": value})
    raise UserError(
        f"{one.name!r}: expected one of {', '.join(CHANGES)} behind the colon, got {change!r:.40}."
    )


def all_contestants(names: Iterable[str]) -> list[Contestant]:
    """Those of these names, each once."""
    return [contestant(name) for name in dict.fromkeys(names)]
