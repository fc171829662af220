"""From points of a prior to weighted points of a posterior."""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.ideal.importance import around_points, pick, tempered
from lupi.ideal.laplace import Residuals, around_modes

STARTS = 32
"""Points of the bank from which modes are looked for."""

ROUNDS = 3
"""Of further points: the first around modes, the others around weighted points."""


def refined(
    bank: Float[Array, "bank parameter"],
    of_bank: Float[Array, " bank"],
    residuals: Residuals,
    log_prior: Callable[[Float[Array, " parameter"]], Float[Array, ""]],
    *,
    num_points: int,
    key: PRNGKeyArray,
) -> tuple[Float[Array, "point parameter"], Float[Array, " point"]]:
    """The bank, three times `num_points` other points, and the logarithms of all their weights.

    The bank is drawn from the prior, and `of_bank` are the logarithms of its likelihoods. Points
    are in standard deviations of the prior, residuals in standard deviations of the noise. A weight
    is prior times likelihood over the density of the mixture of all that was drawn from, prior and
    rounds, so that each serves where the others fail.

    The bank must stand in the order of the first parameter, and each round's points do: so points
    that are picked from all are spread evenly, and rounding may at most pick the next one.
    """
    start_key, *keys = jax.random.split(key, 1 + ROUNDS)
    weights = tempered(jnp.zeros_like(of_bank), of_bank, STARTS)
    starts = bank[pick(weights, STARTS, key=start_key)]
    lowest, highest = bank.min(axis=0), bank.max(axis=0)
    density = around_modes(residuals, starts, lowest, highest)
    points, log_likelihoods, log_weights, densities = bank, of_bank, of_bank, []
    for round_key in keys:
        new = density.sample(num_points, key=round_key)
        new = new[jnp.argsort(new[:, 0])]
        found = -0.5 * (jax.vmap(residuals)(new) ** 2).sum(axis=-1)
        found = jnp.where(jnp.isnan(found), -jnp.inf, found)
        points = jnp.concatenate([points, new])
        log_likelihoods = jnp.concatenate([log_likelihoods, found])
        densities.append(density)
        log_priors = jax.vmap(log_prior)(points)
        of_rounds = [one.log_density(points) for one in densities]
        log_drawn = jnp.stack(
            [math.log(len(bank)) + log_priors, *(math.log(num_points) + one for one in of_rounds)]
        )
        log_weights = log_priors - jax.nn.logsumexp(log_drawn, axis=0)
        density = around_points(points, tempered(log_weights, log_likelihoods, 2 * STARTS))
    return points, log_weights + log_likelihoods
