"""How far a model's own uncertainty can be trusted, as held-out series show."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from lupi.distributions import AnyArray


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

    @classmethod
    def full(cls) -> "Trust":
        """Before any held-out series has been looked at."""
        one = np.ones(1, np.float32)
        return cls(one, one, one, np.array(1.0, np.float32))

    def inflation_at(self, number: Int[AnyArray, ""]) -> Float[Array, ""]:
        """With so many points seen."""
        return self._between(self.inflation, number)

    def noise_at(self, number: Int[AnyArray, ""]) -> Float[Array, ""]:
        """With so many points seen."""
        return self._between(self.noise, number)

    def _between(self, factors, number):
        place = jnp.log(jnp.maximum(number, 1))
        return jnp.exp(jnp.interp(place, jnp.log(self.sizes), jnp.log(factors)))
