"""Other ways to use privileged information than the paper's, each a part as that one is."""

from collections.abc import Callable
from typing import ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.distributions import AnyArray, Normal, kl_divergence
from lupi.models.keys import key_for
from lupi.models.parts.layers import MLP, Linear, softplus
from lupi.models.parts.privileged import PrivilegedEncoder, ResidualCorrection, Sizes
from lupi.models.process import AbstractPrivilegedPart, Code

SHARE_DROPPED = 0.5
"""Of the systems whose privileged values are dropped in a step of training."""

MOST_NOISE, PRICE_OF_SILENCE = 0.7, 0.1
"""Of multiplicative noise: its largest scale, and what a scale e times smaller costs."""

LEAST_ERROR = 0.1
"""That a head may claim, in standard deviations of the values: exact values are not the aim."""


class Concatenation(ResidualCorrection):
    r"""$r = g(r_X, r_\pi)$, of both side by side, instead of a correction of one."""

    def __call__(
        self,
        summary: Float[Array, " aggregate"],
        privileged: Float[AnyArray, " privileged"],
        *,
        key: PRNGKeyArray | None,
    ) -> Float[Array, " aggregate"]:
        joined = self.mlp(summary, self.encoder(privileged))
        return jnp.where(jnp.isnan(privileged).all(), summary, joined)


class Head(AbstractPrivilegedPart):
    """A second task: to tell the privileged values from what the context tells of z.

    They enter no code. Their negative log density is made small beside the objective.
    """

    privileged_size: int = eqx.field(static=True)
    mlp: MLP

    def __init__(self, sizes: Sizes):
        self.privileged_size = sizes.privileged
        self.mlp = MLP((sizes.latent, sizes.hidden, sizes.hidden, 2 * sizes.privileged))

    def __call__(
        self,
        summary: Float[Array, " aggregate"],
        privileged: Float[AnyArray, " privileged"],
        *,
        key: PRNGKeyArray | None,
    ) -> Float[Array, " aggregate"]:
        return summary

    def costs(
        self, context: Code, untold: Code, privileged: Float[AnyArray, " privileged"]
    ) -> dict[str, Float[Array, ""]]:
        """The negative log density of the values that are known."""
        mean, raw_scale = jnp.split(self.mlp(untold.latent.loc), 2)
        guess = Normal(mean, LEAST_ERROR + softplus(raw_scale))
        known = ~jnp.isnan(privileged)
        densities = guess.log_prob(jnp.where(known, privileged, 0.0))
        return {"head": -jnp.sum(densities, where=known)}


class Distillation(ResidualCorrection):
    r"""A teacher that is told the privileged values always, and a student that never is.

    The objective is the teacher's, $q(z | T, \pi)$ against $q(z | C, \pi)$; the student's
    $q'(z | C)$, which predictions use, is to be near the teacher's of the same context.
    """

    tells_context: ClassVar[bool] = True

    def costs(
        self, context: Code, untold: Code, privileged: Float[AnyArray, " privileged"]
    ) -> dict[str, Float[Array, ""]]:
        """The divergence of the student from the teacher, who does not learn from it."""
        teacher = jax.lax.stop_gradient(context.latent)
        return {"distillation": jnp.sum(kl_divergence(teacher, untold.latent))}


class HeteroscedasticDropout(AbstractPrivilegedPart):
    r"""Noise on the aggregate whose scale follows from privileged values (Lambert et al., 2018).

    $r \cdot (1 + \sigma(\pi)\,\varepsilon)$ for target and context, in training alone: the network
    is told how far to trust itself on which system. Without a price of silence, the information
    that gets through, there would soon be no noise.
    """

    tells_context: ClassVar[bool] = True
    privileged_size: int = eqx.field(static=True)
    encoder: PrivilegedEncoder
    to_scale: Linear

    def __init__(self, sizes: Sizes):
        self.privileged_size = sizes.privileged
        self.encoder = PrivilegedEncoder(sizes)
        self.to_scale = Linear(sizes.representation, sizes.aggregate)

    def log_scale(self, privileged: Float[AnyArray, " privileged"]) -> Float[Array, " aggregate"]:
        """The logarithm of the scale of the noise on each entry."""
        raw = self.to_scale(jax.nn.relu(self.encoder(privileged)))
        return jnp.log(MOST_NOISE) + jax.nn.log_sigmoid(raw)

    def __call__(
        self,
        summary: Float[Array, " aggregate"],
        privileged: Float[AnyArray, " privileged"],
        *,
        key: PRNGKeyArray | None,
    ) -> Float[Array, " aggregate"]:
        if key is None:
            return summary
        noise = jax.random.normal(key_for(key, "privileged dropout"), summary.shape)
        noisy = summary * (1 + jnp.exp(self.log_scale(privileged)) * noise)
        return jnp.where(jnp.isnan(privileged).all(), summary, noisy)

    def costs(
        self, context: Code, untold: Code, privileged: Float[AnyArray, " privileged"]
    ) -> dict[str, Float[Array, ""]]:
        """What gets through, of a system of which anything is known."""
        information = -PRICE_OF_SILENCE * jnp.sum(self.log_scale(privileged))
        return {"dropout": jnp.where(jnp.isnan(privileged).all(), 0.0, information)}


class RandomDropping(ResidualCorrection):
    """The paper's correction, in training of some systems only, at random."""

    def __call__(
        self,
        summary: Float[Array, " aggregate"],
        privileged: Float[AnyArray, " privileged"],
        *,
        key: PRNGKeyArray | None,
    ) -> Float[Array, " aggregate"]:
        if key is not None:
            dropped = jax.random.bernoulli(key_for(key, "privileged dropping"), SHARE_DROPPED)
            privileged = jnp.where(dropped, jnp.nan, privileged)
        return super().__call__(summary, privileged, key=key)


Way = Literal["residual", "concatenation", "head", "distillation", "dropout", "dropping"]

WAYS: dict[Way, Callable[..., AbstractPrivilegedPart]] = {
    "residual": ResidualCorrection,
    "concatenation": Concatenation,
    "head": Head,
    "distillation": Distillation,
    "dropout": HeteroscedasticDropout,
    "dropping": RandomDropping,
}
"""Every way to use privileged values, by name, each made of `Sizes`."""
