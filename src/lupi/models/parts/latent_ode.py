"""Part 7: the latent states over time."""

import copy

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from lupi.data.inputs import Inputs
from lupi.distributions import AnyArray
from lupi.models.parts.layers import MLP, softplus
from lupi.models.process import TrainingForm
from lupi.models.solving import solve, solve_network, solves


class LatentODE(TrainingForm):
    """$dL/dt = f_{ODE}(L(t), z, t)$, solved from $L(0)$ at t = 0 to wherever it is asked for.

    Inputs, where there are any, stand beside z.

    (The published code starts at the first target time instead, another one at every step of
    training.)
    """

    mlp: MLP
    steps_per_unit: int = eqx.field(static=True)
    """Of the solver, for each unit of time."""
    training_steps_per_unit: int = eqx.field(static=True)
    """The same, in training."""

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

    def in_training(self) -> "LatentODE":
        """The same equation, solved in the steps of training."""
        other = copy.copy(self)  # fields of a module are frozen, and these two are no leaves
        object.__setattr__(other, "steps_per_unit", self.training_steps_per_unit)
        return other

    def vector_field(
        self,
        t: Float[Array, ""],
        latent_state: Float[Array, " latent_state"],
        global_latent: Float[AnyArray, " global_latent"],
    ) -> Float[Array, " latent_state"]:
        """The derivative of the latent state."""
        return self.mlp(latent_state, global_latent, t[None])

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
        how = {"steps_per_unit": self.steps_per_unit, "horizon": horizon}
        if inputs is not None and not inputs.are_constant:

            def driven(t, latent_state):
                return self.mlp(latent_state, global_latent, inputs.at(t[None])[0], t[None])

            return solve(driven, initial_state, ts, **how)
        if inputs is not None:
            global_latent = jnp.concatenate([global_latent, inputs.values[0]])
        if solves(self.mlp):
            return solve_network(self.mlp, initial_state, global_latent, ts, **how)

        def field(t, latent_state):
            return self.vector_field(t, latent_state, global_latent)

        return solve(field, initial_state, ts, **how)
