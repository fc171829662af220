"""Part 7: the latent states over time."""

import abc
import copy
from typing import TypeVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from lupi.data.inputs import Inputs
from lupi.distributions import AnyArray
from lupi.models.parts.layers import MLP, softplus
from lupi.models.process import TrainingForm
from lupi.models.solving import solve, solve_network, solves

Self = TypeVar("Self", bound="AbstractLatentODE")


class AbstractLatentODE(TrainingForm):
    """A latent state that moves from $L(0)$ at t = 0 to wherever it is asked for.

    (The published code starts at the first target time instead, another one at every step of
    training.)
    """

    steps_per_unit: eqx.AbstractVar[int]
    """Of the solver, for each unit of time."""
    training_steps_per_unit: eqx.AbstractVar[int]
    """The same, in training."""

    @abc.abstractmethod
    def vector_field(
        self,
        t: Float[Array, ""],
        latent_state: Float[Array, " latent_state"],
        global_latent: Float[AnyArray, " global_latent"],
        *inputs: Float[Array, " input"],
    ) -> Float[Array, " latent_state"]:
        """The derivative of the latent state; inputs, where there are any, stand beside z."""

    def in_training(self: Self) -> Self:
        """The same equation, solved in the steps of training."""
        other = copy.copy(self)  # fields of a module are frozen, and these two are no leaves
        object.__setattr__(other, "steps_per_unit", self.training_steps_per_unit)
        return other

    def __call__(
        self,
        initial_state: Float[Array, " latent_state"],
        global_latent: Float[AnyArray, " global_latent"],
        ts: Float[AnyArray, " time"],
        *,
        horizon: int = 1,
        inputs: Inputs | None = None,
    ) -> Float[Array, "time latent_state"]:
        """The states at `ts`, which should not lie beyond the `horizon`."""

        def field(t, latent_state):
            known = () if inputs is None else (inputs.at(t[None])[0],)
            return self.vector_field(t, latent_state, global_latent, *known)

        return solve(field, initial_state, ts, steps_per_unit=self.steps_per_unit, horizon=horizon)


class LatentODE(AbstractLatentODE):
    """$dL/dt = f_{ODE}(L(t), z, t)$."""

    mlp: MLP
    steps_per_unit: int = eqx.field(static=True)
    training_steps_per_unit: int = eqx.field(static=True)

    def __init__(
        self,
        latent_state_size: int,
        *,
        global_latent_size: int,
        input_size: int = 0,
        hidden_size: int,
        steps_per_unit: int,
        training_steps_per_unit: int,
    ):
        in_size = latent_state_size + global_latent_size + input_size + 1
        sizes = (in_size, hidden_size, hidden_size, latent_state_size)
        self.mlp = MLP(sizes, activation=softplus)
        self.steps_per_unit = steps_per_unit
        self.training_steps_per_unit = training_steps_per_unit

    def vector_field(
        self,
        t: Float[Array, ""],
        latent_state: Float[Array, " latent_state"],
        global_latent: Float[AnyArray, " global_latent"],
        *inputs: Float[Array, " input"],
    ) -> Float[Array, " latent_state"]:
        """All of it is learnt."""
        return self.mlp(latent_state, global_latent, *inputs, t[None])

    def __call__(
        self,
        initial_state: Float[Array, " latent_state"],
        global_latent: Float[AnyArray, " global_latent"],
        ts: Float[AnyArray, " time"],
        *,
        horizon: int = 1,
        inputs: Inputs | None = None,
    ) -> Float[Array, "time latent_state"]:
        """The states at `ts`, sooner where nothing but the state and the time changes."""
        if not solves(self.mlp) or not (inputs is None or inputs.are_constant):
            return super().__call__(
                initial_state, global_latent, ts, horizon=horizon, inputs=inputs
            )
        if inputs is not None:
            global_latent = jnp.concatenate([global_latent, inputs.values[0]])
        how = {"steps_per_unit": self.steps_per_unit, "horizon": horizon}
        return solve_network(self.mlp, initial_state, global_latent, ts, **how)


class SecondOrderODE(AbstractLatentODE):
    """A position and its velocity, side by side: $dx/dt = v$, and $dv/dt = f(x, v, z, t)$."""

    mlp: MLP
    steps_per_unit: int = eqx.field(static=True)
    training_steps_per_unit: int = eqx.field(static=True)

    def __init__(
        self,
        position_size: int,
        *,
        global_latent_size: int,
        input_size: int = 0,
        hidden_size: int,
        steps_per_unit: int,
        training_steps_per_unit: int,
    ):
        in_size = 2 * position_size + global_latent_size + input_size + 1
        sizes = (in_size, hidden_size, hidden_size, position_size)
        self.mlp = MLP(sizes, activation=softplus)
        self.steps_per_unit = steps_per_unit
        self.training_steps_per_unit = training_steps_per_unit

    def vector_field(
        self,
        t: Float[Array, ""],
        latent_state: Float[Array, " latent_state"],
        global_latent: Float[AnyArray, " global_latent"],
        *inputs: Float[Array, " input"],
    ) -> Float[Array, " latent_state"]:
        """Half of it is there already, the other half is learnt."""
        _, velocity = jnp.split(latent_state, 2)
        acceleration = self.mlp(latent_state, global_latent, *inputs, t[None])
        return jnp.concatenate([velocity, acceleration])
