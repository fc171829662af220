"""How far a model's own uncertainty can be trusted, as held-out series show."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from lupi.distributions import AnyArray, Normal


class Course(eqx.Module):
    """Factors on the scale of predictions at equally spaced times from 0 to 1, and between them."""

    factors: Float[AnyArray, " node"]

    def at(self, times: Float[AnyArray, "*time"], xp: Any = jnp) -> Float[AnyArray, "*time"]:
        """At such times; beyond the last as there."""
        nodes = np.linspace(0.0, 1.0, len(self.factors))
        return xp.exp(xp.interp(times, nodes, xp.log(self.factors)))


class Gathering(eqx.Module):
    """Factors on how far the privileged values of samples lie from their mean.

    Samples of z are as far apart as trajectories may be wrong. A value is read off them by what the
    same decoder made of other systems, wrong in the same way, and may be known better. Or worse.
    """

    sizes: Float[AnyArray, " size"]
    """Numbers of points seen, increasing."""
    factors: Float[AnyArray, " size"]

    def __call__(self, values: Normal, number: Int[AnyArray, ""]) -> Normal:
        """The values of samples, closer to their mean or farther; as they are with nothing seen."""
        factor = jnp.where(number > 0, _between(self.sizes, self.factors, number), 1.0)
        return Normal(gathered(values.loc, factor, axis=0), values.scale)


def gathered(values: AnyArray, factor: float | AnyArray, *, axis: int) -> AnyArray:
    """So much of the way from their mean."""
    centre = values.mean(axis=axis, keepdims=True)
    return centre + factor * (values - centre)


class Trust(eqx.Module):
    """Factors on scales that a model gives, for several numbers of points seen.

    A learned trajectory is wrong by about the same at neighbouring times; to an inference that
    takes its errors for independent, many points tell more than they should. So the factors depend
    on how many there are.
    """

    sizes: Float[AnyArray, " size"]
    """Numbers of points, increasing."""
    inflation: Float[AnyArray, " size"]
    """Where an observation is compared with a trajectory."""
    noise: Float[AnyArray, " size"]
    """Where one is predicted."""
    value: Float[AnyArray, ""]
    """Of what a trajectory does not tell of privileged values; whatever the number of points."""
    course: Course | None = None
    """Of predictions in time, beside `noise`: some stretches are learnt better than others."""
    gathering: Gathering | None = None
    """Of privileged values, beside `value`."""

    @classmethod
    def full(cls) -> "Trust":
        """Before any held-out series has been looked at."""
        one = np.ones(1, np.float32)
        return cls(one, one, one, np.array(1.0, np.float32))

    def inflation_at(self, number: Int[AnyArray, ""]) -> Float[Array, ""]:
        """With so many points seen."""
        return _between(self.sizes, self.inflation, number)

    def noise_at(
        self, number: Int[AnyArray, ""], times: Float[AnyArray, " time"]
    ) -> Float[Array, " time"]:
        """At such times, with so many points seen."""
        noise = jnp.broadcast_to(_between(self.sizes, self.noise, number), times.shape)
        return noise if self.course is None else noise * self.course.at(times)


def _between(sizes, factors, number):
    """The factor for so many points, where it is known for some numbers."""
    place = jnp.log(jnp.maximum(number, 1))
    return jnp.exp(jnp.interp(place, jnp.log(sizes), jnp.log(factors)))
