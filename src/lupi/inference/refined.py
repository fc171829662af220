"""Inference in the model's own simulator: which z explains the context?"""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from lupi._machinery.compilation import padded_size
from lupi._machinery.factors import factors_of, solve_positive
from lupi.data.observations import Observations
from lupi.distributions import AnyArray, Normal
from lupi.errors import UserError
from lupi.inference.amortised import Amortised
from lupi.inference.family import Family
from lupi.inference.inference import (
    AbstractInference,
    Inferred,
    at_reference,
    decode_samples,
    decode_with_grid,
)
from lupi.inference.mixture import GaussianMixture, systematic
from lupi.models import AbstractProcess, Sample
from lupi.models.solving import hermite

POWERS = (1.0, 0.8, 0.6, 0.4, 0.2, 0.0)
"""Of the importance weights: the first that leaves enough samples is taken."""

NEAR, HIGH = 0.9, 12.0
"""In nats: what is not worth a step of the search, and above the best what will not count."""

ROUNDS, KEPT = 16, 16
"""Of the search, at most: where no start has led to an explanation, or others may, these are tried;
and how many of the places found are kept."""

UNLIKELY, WIDE, COVERED = 4.0, 0.3, 12.0
"""Nats below the best member, from which on it need not be tried; the standard deviation of a
coordinate of unit scale, from which on the context tells little; and the squared distance, in
standard deviations, up to which members are counted to a place that was found."""

NEARLY = 4.0
"""Times the misfit of an explanation: what there is no better one than, if it is found twice."""

ALIKE = 0.2
"""Members that are no farther apart, in coordinates of unit scale, lead to the same place."""

MOST_PRIOR = 0.5
"""Of the draws, from the prior instead of around what was found: where that is right, the others
suffice for the weights not to be flattened."""

LEAST_DRAWS = 32
"""From which samples are chosen, however few."""


class Refined(AbstractInference):
    """Samples from $p(z | C) \\propto p(z) \\prod_i p(y_i | z, t_i)$ under the trained decoder.

    The prior is where the training systems lie. The search starts at the encoder's guess and at
    the training systems that fit the context best, and goes on by Gauss-Newton steps, damped as
    Levenberg and Marquardt do; a Gaussian at each optimum and, where the context tells little, the
    prior itself make a mixture to draw from; importance weights correct the draws.
    """

    starts: int = eqx.field(default=2, static=True)
    """Training systems to start from, beside the encoder's guess."""
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
        problem = _Problem(searched, family, at_rest, context, code.deterministic, privileged)
        scores, near = _scores_of_members(problem)
        guess = family.active(code.latent.loc)
        starts = min(self.starts, len(near) - 1)
        optima = _search_in_rounds(problem, guess, near, starts, self.steps)
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


class _Problem(NamedTuple):
    """What is to be explained, and by what."""

    process: AbstractProcess
    family: Family
    """As it is with the inputs of the system."""
    at_rest: Family
    """As it is with the reference inputs, with which privileged values are read."""
    context: Observations
    deterministic: PyTree[AnyArray]
    privileged: Float[AnyArray, " privileged"] | None

    def seen(self) -> tuple[Float[Array, " value"], Bool[Array, " value"]]:
        """All values that are known of the system, and which of them are."""
        known = jnp.broadcast_to(self.context.known, self.context.ys.shape)
        values, known = jnp.ravel(self.context.ys), jnp.ravel(known)
        if self.privileged is None or self.family.reader is None:
            return values, known
        there = ~jnp.isnan(self.privileged)
        return (
            jnp.concatenate([values, jnp.where(there, self.privileged, 0.0)]),
            jnp.concatenate([known, there]),
        )

    def expected(self, at_context: Normal, trajectory: Float[Array, "grid observation"]) -> Normal:
        """Each of these values, as a decoded sample of z has it."""
        family = self.family
        inflation = family.trust.inflation_at(jnp.sum(self.context.mask))
        loc, scale = jnp.ravel(at_context.loc), inflation * jnp.ravel(at_context.scale)
        if self.privileged is None or family.reader is None:
            return Normal(loc, scale)
        value = family.read(trajectory)
        return Normal(jnp.concatenate([loc, value.loc]), jnp.concatenate([scale, value.scale]))

    def decoded(
        self, latent: Float[Array, " latent"], with_grid: bool
    ) -> tuple[Normal, Float[Array, "grid observation"]]:
        """What a z decodes to where something was seen, and its trajectory, if asked for."""
        times = jnp.where(self.context.mask, self.context.ts, 0.0)
        grid = jnp.asarray(self.family.grid)
        if not with_grid:
            at_context = self.process.decode(Sample(latent, self.deterministic), times)
            return at_context, at_context.loc[:0]
        if self.family.response is not None:
            at_context = self.process.decode(Sample(latent, self.deterministic), times)
            reference = at_reference(self.process, self.at_rest, self.context)
            latent = latent - self.family.centre + self.at_rest.centre
            return at_context, self.process.decode(Sample(latent, reference), grid).loc
        number = len(times)
        both = self.process.decode(
            Sample(latent, self.deterministic), jnp.concatenate([times, grid])
        )
        return jax.tree.map(lambda leaf: leaf[:number], both), both.loc[number:]

    def log_likelihood(
        self, at_context: Normal, trajectory: Float[Array, "grid observation"]
    ) -> Float[Array, ""]:
        values, known = self.seen()
        return jnp.sum(self.expected(at_context, trajectory).log_prob(values), where=known)


class _Optimum(NamedTuple):
    """A place in the active coordinates, and the surface around it."""

    place: Float[Array, " active"]
    height: Float[Array, ""]
    """The negative logarithm of prior times likelihood."""
    slope: Float[Array, " active"]
    curvature: Float[Array, "active active"]
    misfit: Float[Array, ""]
    """The sum of the squared residuals, each in units of its scale."""


def _surface(problem: _Problem, place: Float[Array, " active"]) -> _Optimum:
    """Height, slope and curvature; of the likelihood the expected curvature (Fisher's)."""
    family = problem.family
    values, known = problem.seen()
    with_grid = problem.privileged is not None and family.reader is not None

    def moments(place):
        expected = problem.expected(*problem.decoded(family.latent(place), with_grid))
        return expected.loc, jnp.log(expected.scale)

    def along(direction):
        return jax.jvp(moments, (place,), (direction,))

    found = jax.vmap(along, out_axes=(None, 0))(jnp.eye(place.size))
    (loc, log_scale), (of_loc, of_scale) = found
    scale = jnp.exp(log_scale)
    residual = jnp.where(known, (values - loc) / scale, 0.0)
    of_loc = jnp.where(known, of_loc / scale, 0.0)
    of_scale = jnp.where(known, of_scale, 0.0)
    fit = jnp.sum(0.5 * residual**2) + jnp.sum(log_scale, where=known)
    slope = of_scale @ (1 - residual**2) - of_loc @ residual
    curvature = of_loc @ of_loc.T + 2 * of_scale @ of_scale.T

    prior = family.prior
    logs = prior.log_densities(place)
    shares = jax.nn.softmax(logs)
    # All Gaussians' precisions at once, each by its share: of factors side by side.
    factors = jnp.reshape(jnp.sqrt(shares)[:, None, None] * prior.inverses, (-1, place.size))
    apart = jnp.sum(prior.inverses * (place - prior.means)[:, None], axis=-1)
    pulls = jnp.sum(prior.inverses * (shares[:, None] * apart)[..., None], axis=(0, 1))
    return _Optimum(
        place,
        fit - jax.nn.logsumexp(logs),
        slope + pulls,
        curvature + factors.T @ factors,
        jnp.sum(residual**2),
    )


def _search_in_rounds(
    problem: _Problem, guess: Float[Array, " active"], scores, number: int, steps: int
) -> _Optimum:
    """The best places found: from a guess and the members of the highest score; and from others, if
    none of these explains what was seen, or if it tells so little that others may as well.

    A round that leads to the best place again, which all but explains it, and to no other one that
    counts, is the last.
    """
    members = jnp.asarray(problem.family.members)
    _, known = problem.seen()
    # Twice what chance makes of it, and some more where it is little.
    acceptable = 2 * jnp.sum(known) + 12
    likely = jnp.max(scores) - UNLIKELY

    def unfinished(state):
        optima, scores, turn, is_last = state
        unexplained = ~jnp.any(optima.misfit < acceptable)
        best = optima.curvature[jnp.argmin(optima.height)]
        _, inverse = factors_of(best)
        is_wide = jnp.max(jnp.sum(inverse**2, axis=0)) > WIDE**2
        is_worth_it = unexplained | (is_wide & jnp.any(scores > likely))
        return (turn < ROUNDS) & ~is_last & is_worth_it

    def search(state):
        optima, scores, turn, _ = state
        starts = far_apart(members, scores, number + 1)
        first = jnp.concatenate([guess[None], starts[:-1]])
        starts = jnp.where(turn == 0, first, starts)
        found = _search(problem, starts, steps)
        apart = members[:, None] - starts
        tried = jnp.any(jnp.sum(apart**2, axis=-1) < ALIKE**2, axis=1)
        apart = members[:, None] - found.place
        covered = _squared_distances(apart, found.curvature) < COVERED
        scores = jnp.where(tried | jnp.any(covered, axis=1), -jnp.inf, scores)
        everything = jax.tree.map(lambda *parts: jnp.concatenate(parts), optima, found)
        counts = found.height < jnp.min(everything.height) + UNLIKELY
        distances = _squared_distances(found.place[:, None] - optima.place, optima.curvature)
        reached = (distances < COVERED) & jnp.isfinite(optima.height)
        again = jnp.abs(jnp.min(found.height) - jnp.min(optima.height)) < NEAR
        # Far from an explanation it may be a wrong one, that is near to many starts.
        hopeful = jnp.min(found.misfit) < NEARLY * acceptable
        is_last = again & hopeful & jnp.all(jnp.any(reached, axis=1) | ~counts)
        _, lowest = jax.lax.top_k(-everything.height, KEPT)
        optima = jax.tree.map(lambda leaf: leaf[lowest], everything)
        return optima, scores, turn + 1, is_last

    begin = (_nowhere(jnp.tile(guess, (KEPT, 1))), scores, jnp.array(0), jnp.array(False))
    return jax.lax.while_loop(unfinished, search, begin)[0]


def _squared_distances(
    apart: Float[Array, "place optimum active"], curvatures: Float[Array, "optimum active active"]
) -> Float[Array, "place optimum"]:
    """In standard deviations of each optimum: by sums, as products would be many and tiny."""
    pulled = jnp.sum(curvatures * apart[..., None, :], axis=-1)
    return jnp.sum(pulled * apart, axis=-1)


def far_apart(
    members: Float[Array, "member active"], scores: Float[Array, " member"], number: int
) -> Float[Array, "start active"]:
    """So many members of the highest score, no two of them alike: where the context tells little,
    what explains it may lie in several places, and the best few members in one of them."""
    starts = []
    for _ in range(number):
        starts.append(members[jnp.argmax(scores)])
        alike = jnp.sum((members - starts[-1]) ** 2, axis=-1) < ALIKE**2
        scores = jnp.where(alike, -jnp.inf, scores)
    return jnp.stack(starts)


def _nowhere(places: Float[Array, "start active"]) -> _Optimum:
    """Before anything is known of them."""
    number, size = places.shape
    high = jnp.full(number, jnp.inf)
    eyes = jnp.broadcast_to(jnp.eye(size), (number, size, size))
    return _Optimum(places, high, jnp.zeros((number, size)), eyes, high)


class _Search(NamedTuple):
    """Where the search from several starts has come to."""

    here: _Optimum
    damping: Float[Array, " start"]
    move: Float[Array, "start active"]
    """What to subtract next."""
    gain: Float[Array, " start"]
    """By how much the height can be lowered, as far as the surface is what it looks like."""
    steps: Int[Array, ""]


def _search(problem: _Problem, starts: Float[Array, "start active"], steps: int) -> _Optimum:
    """The best place found from each start, in at most so many steps.

    It ends as soon as no start promises more: those at their optimum, and those that will stay
    high above the best.
    """
    number, size = starts.shape

    def promising(search: _Search):
        heights, gain = search.here.height, search.gain
        worth_it = (gain > NEAR) & (heights - gain < jnp.min(heights) + HIGH)
        return (search.steps == 0) | (jnp.any(worth_it) & (search.steps <= steps))

    def step(search: _Search) -> _Search:
        # The first step goes nowhere: it only looks around.
        here, damping = search.here, search.damping
        there = jax.vmap(lambda place: _surface(problem, place))(here.place - search.move)
        better = there.height < here.height
        damping = jnp.where(better, damping * 0.2, damping * 5.0)
        here = jax.tree.map(
            lambda new, old: jnp.where(better.reshape(-1, *[1] * (new.ndim - 1)), new, old),
            there,
            here,
        )
        diagonals = jax.vmap(jnp.diag)(jnp.diagonal(here.curvature, axis1=1, axis2=2))
        damped = here.curvature + damping[:, None, None] * diagonals
        matrices = jnp.concatenate([damped, here.curvature])
        move, whole = jnp.split(jax.vmap(solve_positive)(matrices, jnp.tile(here.slope, (2, 1))), 2)
        # Of the whole move: along a narrow valley a damped one promises little while much is left.
        gain = 0.5 * jnp.sum(here.slope * jnp.where(jnp.isfinite(whole), whole, move), axis=1)
        return _Search(here, damping, move, gain, search.steps + 1)

    begin = _Search(
        _nowhere(starts),
        jnp.full(number, 0.25),
        jnp.zeros((number, size)),
        jnp.zeros(number),
        jnp.array(0),
    )
    here = jax.lax.while_loop(promising, step, begin).here
    # The last step, where the surface is all but what it looks like from here, costs nothing.
    move = jax.vmap(solve_positive)(here.curvature, here.slope)
    gain = 0.5 * jnp.sum(here.slope * move, axis=1)
    gain = jnp.where((gain > 0) & (gain < 1), gain, 0.0)
    place = jnp.where((gain > 0)[:, None], here.place - move, here.place)
    return here._replace(place=place, height=here.height - gain)


def _scores_of_members(
    problem: _Problem,
) -> tuple[Float[Array, " member"], Float[Array, " member"]]:
    """The log-likelihood of each member; and that of the best system near each, as it may be.

    The trajectories of members are known at the times of the grid, and are cubics between them;
    under inputs of their own they are not, and are decoded.
    """
    family = problem.family
    last = len(family.grid) - 1
    position = jnp.clip(problem.context.ts * last, 0, last)

    def known(member, means, scales):
        slopes = jnp.asarray(jnp.gradient(means, axis=0))
        loc = hermite(position, means, slopes)
        return Normal(loc, hermite(position, scales, jnp.zeros_like(scales)))

    def decoded(member, means, scales):
        return problem.decoded(family.latent(member), with_grid=False)[0]

    at_context = known if family.response is None else decoded

    def one(member, means, scales):
        found = at_context(member, means, scales)
        near = Normal(found.loc, jnp.sqrt(found.scale**2 + family.spacing**2))
        return problem.log_likelihood(found, means), problem.log_likelihood(near, means)

    parts = (family.members, family.means, family.scales)
    return jax.vmap(one)(*map(jnp.asarray, parts))


def _effective_share(log_weights: Float[Array, " sample"]) -> Float[Array, ""]:
    weights = jax.nn.softmax(jnp.where(jnp.isnan(log_weights), -jnp.inf, log_weights))
    return 1 / (jnp.sum(weights**2) * weights.size)


def _proposal(family: Family, optima: _Optimum, scores) -> GaussianMixture:
    """A Gaussian at each optimum, weighed by its evidence, beside the prior's own."""
    # Of the covariance, which is the inverse of the curvature: the transposes, each for the other.
    inverses, factors = (jnp.swapaxes(f, 1, 2) for f in jax.vmap(factors_of)(optima.curvature))
    volumes = jnp.sum(jnp.log(jnp.diagonal(factors, axis1=1, axis2=2)), axis=1)
    apart = optima.place[:, None] - optima.place
    distances = _squared_distances(apart, optima.curvature)
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
