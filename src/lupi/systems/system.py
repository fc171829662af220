"""What a physical system is."""

import abc
import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.distributions import Distribution
from lupi.errors import UserError

if TYPE_CHECKING:
    Parameter = Any  # a member's methods see numbers, whatever its family's fields hold
else:
    Parameter = float | Float[Array, "..."] | Distribution
    """A number, or the distribution it is drawn from: one of `lupi.distributions` or of numpyro."""


class System(eqx.Module):
    """A family of dynamical systems: subclass it, and the fields are its parameters.

    A field holds a number where all systems of the family agree and a distribution where they
    differ; `sample` draws one member, whose fields are all numbers. Initial conditions are fields
    too. `privileged` names the quantities that are known in training only: fields, or properties
    computed from them.

    ```python
    import jax.numpy as jnp
    from lupi.distributions import Uniform
    from lupi.systems import Parameter, System

    class Pendulum(System):
        observed = ("angle",)
        length: Parameter = 1.0
        angle: Parameter = 1.0

        def initial_state(self):
            return jnp.stack([self.angle, jnp.zeros_like(self.angle)])

        def vector_field(self, time, state):
            angle, speed = state
            return jnp.stack([speed, -9.81 / self.length * jnp.sin(angle)])

        def observe(self, state):
            return state[:1]

    pendulums = Pendulum(length=Uniform(0.5, 2.0), privileged=("length",))
    ```
    """

    observed: ClassVar[tuple[str, ...]]
    privileged: tuple[str, ...] = eqx.field(static=True, kw_only=True, default=())

    def __check_init__(self):
        missing = [name for name in self.privileged if not hasattr(type(self), name)]
        missing = [name for name in missing if name not in self.parameter_names()]
        if missing:
            raise UserError(
                f"privileged quantities must be fields or properties of {type(self).__name__} "
                f"({', '.join(self.parameter_names())}, ...); it has no {', '.join(missing)}: "
                "correct the name, or add a property that computes it."
            )

    @abc.abstractmethod
    def initial_state(self) -> Float[Array, " state"]:
        """The state at time 0."""

    @abc.abstractmethod
    def vector_field(
        self, time: Float[Array, ""], state: Float[Array, " state"]
    ) -> Float[Array, " state"]:
        """The time derivative of the state."""

    def observe(self, state: Float[Array, " state"]) -> Float[Array, " observation"]:
        """What is seen of a state; the whole of it unless a subclass says otherwise."""
        return state

    def privileged_values(self) -> Float[Array, " privileged"]:
        """The privileged quantities of one sampled member, in the order of `privileged`."""
        return jnp.array([getattr(self, name) for name in self.privileged])

    def parameter_names(self) -> tuple[str, ...]:
        """The names of the fields that hold parameters."""
        return tuple(f.name for f in dataclasses.fields(self) if f.name != "privileged")

    def varying(self) -> dict[str, Distribution]:
        """The parameters in which members differ, and what they are drawn from."""
        fields = {name: getattr(self, name) for name in self.parameter_names()}
        return {name: value for name, value in fields.items() if isinstance(value, Distribution)}

    def member(self, values: Mapping[str, Any]) -> "System":
        """The member with these values of what varies: the same class, a number in every field."""
        fields = {name: getattr(self, name) for name in self.parameter_names()} | dict(values)
        numbers = {name: jnp.asarray(value, dtype=float) for name, value in fields.items()}
        return type(self)(**numbers, privileged=self.privileged)

    def sample(self, *, key: PRNGKeyArray) -> "System":
        """Draw one member."""
        names = self.parameter_names()
        keys = dict(zip(names, jax.random.split(key, len(names)), strict=True))
        return self.member({name: one.sample(keys[name]) for name, one in self.varying().items()})
