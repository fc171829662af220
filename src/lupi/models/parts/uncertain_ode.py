"""A latent ODE of second order whose weights are random."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from lupi.distributions import AnyArray
from lupi.models.parts.latent_ode import AbstractLatentODE
from lupi.models.parts.layers import Linear, softplus


class UncertainLinear(eqx.Module):
    r"""A linear layer with the weights $\bar W + U\,\mathrm{diag}(\varepsilon)\,V$.

    Where $\varepsilon$ is Gaussian, so are they; mapped over systems, no system needs a matrix of
    its own.
    """

    mean: Linear
    into: Linear
    out_of: Linear

    def __init__(self, in_size: int, out_size: int, *, noise_size: int):
        self.mean = Linear(in_size, out_size)
        self.into = Linear(in_size, noise_size)
        self.out_of = Linear(noise_size, out_size)

    def __call__(
        self, noise: Float[AnyArray, " noise"], *inputs: Float[AnyArray, " _"]
    ) -> Float[Array, " out"]:
        """Of inputs side by side, with the weights of this noise."""
        return self.mean(*inputs) + self.out_of(noise * self.into(*inputs))


class UncertainODE(AbstractLatentODE):
    r"""A position and its momentum: $dx/dt = v$, $dv/dt = f_W(x, v)$ with uncertain weights W."""

    layers: tuple[UncertainLinear, ...]
    position_size: int = eqx.field(static=True)
    noise_size: int = eqx.field(static=True)
    """Of the noise in all layers."""
    steps_per_unit: int = eqx.field(static=True)
    training_steps_per_unit: int = eqx.field(static=True)

    def __init__(
        self,
        position_size: int,
        *,
        noise_size: int,
        input_size: int = 0,
        hidden_size: int,
        steps_per_unit: int,
        training_steps_per_unit: int,
    ):
        """`noise_size`: of each layer."""
        ends = (2 * position_size + input_size, hidden_size, hidden_size, position_size)
        self.layers = tuple(
            UncertainLinear(ends[i], ends[i + 1], noise_size=noise_size) for i in range(3)
        )
        self.position_size, self.noise_size = position_size, 3 * noise_size
        self.steps_per_unit = steps_per_unit
        self.training_steps_per_unit = training_steps_per_unit

    def vector_field(
        self,
        t: Float[Array, ""],
        latent_state: Float[Array, " latent_state"],
        global_latent: Float[AnyArray, " global_latent"],
        *inputs: Float[Array, " input"],
    ) -> Float[Array, " latent_state"]:
        """The noise of the weights stands in the place of z."""
        first, second, last = self.layers
        of_first, of_second, of_last = jnp.split(global_latent, 3)
        hidden = softplus(first(of_first, latent_state, *inputs))
        hidden = softplus(second(of_second, hidden))
        momentum = latent_state[self.position_size :]
        return jnp.concatenate([momentum, last(of_last, hidden)])
