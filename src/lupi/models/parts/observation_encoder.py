"""Part 1: observations to representations."""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from lupi.data.inputs import Inputs
from lupi.data.observations import Observations
from lupi.distributions import AnyArray
from lupi.errors import UserError
from lupi.models.parts.layers import MLP


class Points(eqx.Module):
    """What a process knows of points before it knows which of them are in a set."""

    representations: Float[AnyArray, "time representation"]
    ts: Float[AnyArray, " time"]
    inputs: Inputs | None

    @classmethod
    def of(cls, encoder: Callable, observations: Observations) -> "Points":
        """Each represented by the encoder."""
        return cls(encoder(observations), observations.ts, observations.inputs)  # pyright: ignore[reportCallIssue]

    def aggregate(
        self, aggregator: Callable, mask: Bool[AnyArray, " time"]
    ) -> Float[Array, " aggregate"]:
        """One vector of those that `mask` calls real."""
        return aggregator(self.representations, mask, self.ts)


class ObservationEncoder(eqx.Module):
    """$r_i = f_{obs}(t_i, y_i)$: the representation of each observation on its own.

    A missing value enters as 0, and with `marks_gaps` a flag for each value says whether it is.
    Inputs enter as they are at the time of the observation.
    """

    observation_size: int = eqx.field(static=True)
    marks_gaps: bool = eqx.field(static=True)
    mlp: MLP

    def __init__(
        self,
        observation_size: int,
        *,
        hidden_size: int,
        representation_size: int,
        marks_gaps: bool,
        input_size: int = 0,
    ):
        in_size = 1 + observation_size * (2 if marks_gaps else 1) + input_size
        sizes = (in_size, hidden_size, hidden_size, representation_size)
        self.observation_size, self.marks_gaps = observation_size, marks_gaps
        self.mlp = MLP(sizes)

    def __call__(self, observations: Observations) -> Float[Array, "time representation"]:
        ts, ys, gaps = observations.ts, observations.ys, observations.gaps
        if gaps is not None:
            if not self.marks_gaps:
                raise UserError(
                    "the observations have gaps, but this process does not mark them: drop the "
                    "points with a gap, or build it with marks_gaps=True."
                )
            ys = jnp.where(gaps, 0.0, ys)
        parts = [ts[..., None], ys]
        if self.marks_gaps:
            parts.append(jnp.zeros_like(ys) if gaps is None else gaps.astype(ys.dtype))
        if observations.inputs is not None:
            parts.append(observations.inputs.at(ts))
        return self.mlp(jnp.concatenate(parts, axis=-1))
