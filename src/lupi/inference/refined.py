"""Inference in the model's own simulator: which z explains the context?"""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from lupi._machinery.compilation import padded_size
from lupi._machinery.factors import factors_of
from lupi.data.observations import Observations
from lupi.distributions import AnyArray
from lupi.errors import UserError
from lupi.inference.amortised import Amortised
from lupi.inference.family import Family
from lupi.inference.inference import (
    AbstractInference,
    Inferred,
    decode_samples,
    decode_with_grid,
)
from lupi.inference.mixture import GaussianMixture, systematic
from lupi.inference.search import (
    Optimum,
    Problem,
    scores_of_members,
    search,
    squared_distances,
)
from lupi.models import AbstractProcess

POWERS = (1.0, 0.8, 0.6, 0.4, 0.2, 0.0)
"""Of the importance weights: the first that leaves enough samples is taken."""

MOST_PRIOR = 0.5
"""Of the draws, from the prior instead of around what was found: where that is right, the others
suffice for the weights not to be flattened."""

LEAST_DRAWS = 32
"""From which samples are chosen, however few."""


class Refined(AbstractInference):
    """Samples from $p(z | C) \\propto p(z) \\prod_i p(y_i | z, t_i)$ under the trained decoder.

    The prior is where the training systems lie. The search starts at the training system that fits
    the context best, then at the encoder's guess and at other systems as long as that may help, and
    goes on by Gauss-Newton steps, damped as Levenberg and Marquardt do; a Gaussian at each optimum
    and, where the context tells little, the prior itself make a mixture to draw from; importance
    weights correct the draws.
    """

    starts: int = eqx.field(default=2, static=True)
    """That lead to the best place again, with nothing new in between, before no more are tried."""
    steps: int = eqx.field(default=8, static=True)
    """Of the search from each start, at most."""
    least_effective: float = eqx.field(default=0.5, static=True)
    """Share of effective samples below which importance weights are flattened."""

    def infer(
        self,
        process: AbstractProcess,
        family: Family | None,
        context: Observations,
        times: Float[AnyArray, " time"],
        *,
        privileged: Float[AnyArray, " privileged"] | None = None,
        num_samples: int,
        horizon: int,
        key: PRNGKeyArray,
    ) -> Inferred:
        """Search, draw, weigh, and choose among the draws."""
        code = process.encode(context, privileged)
        if code.latent.loc.size == 0:  # nothing to be found
            how = {"num_samples": num_samples, "horizon": horizon, "key": key}
            return Amortised().infer(process, family, context, times, **how)
        if family is None:
            raise UserError(
                "expected what is known of the family of systems (`lupi.learn_family`), got none: "
                "give it to the predictor, or use the `Amortised` inference."
            )
        at_rest, family = family, family.given(context.inputs)
        searched = process.in_training()
        problem = Problem(searched, family, at_rest, context, code.deterministic, privileged)
        scores, near = scores_of_members(problem)
        guess = family.active(code.latent.loc)
        optima = search(problem, guess, near, self.starts, self.steps)
        proposal = _proposal(family, optima, scores)

        # As many as `predict` draws for any number up to that: its samples are some of these.
        number = padded_size(num_samples, LEAST_DRAWS)
        keys = jax.random.split(key, 3)
        active = proposal.sample(number, key=keys[0])
        other = jax.random.normal(keys[1], (number, family.other_axes.shape[1]))
        latents = jax.vmap(family.latent)(active, other)

        seen_at = jnp.where(context.mask, context.ts, 0.0)
        everywhere = partial(decode_with_grid, process, at_rest, context, horizon=horizon)
        # To weigh a draw takes little of it: where few are chosen, only these are decoded whole.
        whole = num_samples == number or privileged is not None
        if whole:
            parts = everywhere(latents, code.deterministic, [seen_at, times])
        else:
            how = {"horizon": horizon}
            parts = decode_samples(process, latents, code.deterministic, [seen_at], **how) * 2
        log_weights = (
            jax.vmap(lambda seen, grid: problem.log_likelihood(seen, grid.loc))(parts[0], parts[-1])
            + jax.vmap(family.prior.log_density)(active)
            - jax.vmap(proposal.log_density)(active)
        )
        log_weights = jnp.where(jnp.isfinite(log_weights), log_weights, -jnp.inf)
        shares = jnp.stack([_effective_share(power * log_weights) for power in POWERS])
        power = jnp.array(POWERS)[jnp.argmax(shares >= self.least_effective)]
        chosen = systematic(jnp.where(power > 0, power * log_weights, 0.0), number, keys[2])
        # Out of their order: the first few are from all over.
        chosen = chosen[_scattered(number)[:num_samples]]
        latents, parts = jax.tree.map(lambda leaf: leaf[chosen], (latents, parts))
        if not whole:
            parts = everywhere(latents, code.deterministic, [times])
        *_, decoded, on_grid = parts
        return Inferred(
            latents,
            decoded,
            trajectories=on_grid.loc,
            log_evidence=jax.nn.logsumexp(log_weights) - jnp.log(number),
            effective_share=shares[0],
        )


def _scattered(number: int) -> Int[np.ndarray, " place"]:
    """The numbers below a power of two, each far from the one before it."""
    stride = int(number * 0.618) | 1
    return np.arange(number) * stride % number


def _effective_share(log_weights: Float[Array, " sample"]) -> Float[Array, ""]:
    weights = jax.nn.softmax(jnp.where(jnp.isnan(log_weights), -jnp.inf, log_weights))
    return 1 / (jnp.sum(weights**2) * weights.size)


def _proposal(family: Family, optima: Optimum, scores) -> GaussianMixture:
    """A Gaussian at each optimum, weighed by its evidence, beside the prior's own."""
    # Of the covariance, which is the inverse of the curvature: the transposes, each for the other.
    inverses, factors = (jnp.swapaxes(f, 1, 2) for f in jax.vmap(factors_of)(optima.curvature))
    volumes = jnp.sum(jnp.log(jnp.diagonal(factors, axis1=1, axis2=2)), axis=1)
    apart = optima.place[:, None] - optima.place
    distances = squared_distances(apart, optima.curvature)
    # Several searches that end at one place count as one.
    repeats = jnp.sum(jnp.exp(-0.5 * distances), axis=1)
    log_evidence = volumes - optima.height - jnp.log(repeats)
    log_evidence = jnp.where(jnp.isfinite(log_evidence), log_evidence, -jnp.inf)
    local = jax.nn.log_softmax(log_evidence)

    # The less the context tells, the more members it fits, and the more the prior says. Never all:
    # where a quarter of the members fit, three of four draws of the prior do not.
    width = jnp.minimum(MOST_PRIOR, 4 * _effective_share(scores))
    shares = jax.nn.softmax(jax.vmap(family.prior.log_densities)(family.members), axis=-1)
    of_prior = jnp.log(jax.nn.softmax(scores) @ shares + 1e-9)
    return GaussianMixture(
        jnp.concatenate([local + jnp.log1p(-width), of_prior + jnp.log(width)]),
        jnp.concatenate([optima.place, family.prior.means]),
        jnp.concatenate([factors, jnp.asarray(family.prior.factors)]),
        jnp.concatenate([inverses, jnp.asarray(family.prior.inverses)]),
    )
