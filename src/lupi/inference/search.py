"""The search for the z that explains a context: Gauss-Newton steps from one start after another."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from lupi._machinery.factors import solve_positive
from lupi.data.observations import Observations
from lupi.distributions import AnyArray, Normal
from lupi.inference.family import Family
from lupi.inference.inference import at_reference
from lupi.models import AbstractProcess, Sample
from lupi.models.solving import hermite

NEAR = 0.9
"""In nats: what is not worth a step of the search."""

STARTS, IF_EXPLAINED, KEPT = 24, 6, 16
"""Of the search, at most: where none of them leads to an explanation, and where one does and others
may as well; and how many of the places found are kept."""

UNLIKELY, COVERED = 4.0, 12.0
"""Nats below the best member, from which on it need not be tried; and the squared distance, in
standard deviations, up to which members are counted to a place that was found."""

NEARLY = 4.0
"""Times the misfit of an explanation: what there is no better one than, if it is found twice."""

ALIKE = 0.2
"""Members that are no farther apart, in coordinates of unit scale, lead to the same place."""


class Problem(NamedTuple):
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
        """Of these values, under a decoded sample of z."""
        values, known = self.seen()
        return jnp.sum(self.expected(at_context, trajectory).log_prob(values), where=known)


class Optimum(NamedTuple):
    """A place in the active coordinates, and the surface around it."""

    place: Float[Array, " active"]
    height: Float[Array, ""]
    """The negative logarithm of prior times likelihood."""
    slope: Float[Array, " active"]
    curvature: Float[Array, "active active"]
    misfit: Float[Array, ""]
    """The sum of the squared residuals, each in units of its scale."""


def _surface(problem: Problem, place: Float[Array, " active"]) -> Optimum:
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
    return Optimum(
        place,
        fit - jax.nn.logsumexp(logs),
        slope + pulls,
        curvature + factors.T @ factors,
        jnp.sum(residual**2),
    )


def search(
    problem: Problem, guess: Float[Array, " active"], scores, enough: int, steps: int
) -> Optimum:
    """The best places found: from the member of the highest score, and from others and the guess as
    long as nothing explains what was seen, or as others may explain it as well.

    Where one start after another leads to the best place again, which all but explains it, and none
    to another one that counts, there is nothing more to be found.
    """
    members = jnp.asarray(problem.family.members)
    _, known = problem.seen()
    # Twice what chance makes of it, and some more where it is little.
    acceptable = 2 * jnp.sum(known) + 12
    likely = jnp.max(scores) - UNLIKELY

    def unfinished(state):
        optima, scores, turn, agreed = state
        explained = jnp.any(optima.misfit < acceptable)
        is_over = explained & ((turn >= IF_EXPLAINED) | ~jnp.any(scores > likely))
        is_left = (turn < 2) | jnp.any(jnp.isfinite(scores))
        return (turn < STARTS) & (agreed < enough) & is_left & ~is_over

    def try_next(state):
        optima, scores, turn, agreed = state
        start = jnp.where(turn == 1, guess, members[jnp.argmax(scores)])
        found = _from_one(problem, start, steps)
        apart = members - found.place
        covered = squared_distances(apart[:, None], found.curvature[None])[:, 0] < COVERED
        alike = jnp.minimum(jnp.sum((members - start) ** 2, 1), jnp.sum(apart**2, 1)) < ALIKE**2
        scores = jnp.where(covered | alike, -jnp.inf, scores)
        best = jnp.min(optima.height)
        distances = squared_distances((found.place - optima.place)[None], optima.curvature)[0]
        reached = jnp.any((distances < COVERED) & jnp.isfinite(optima.height))
        # Far from an explanation it may be a wrong one, that is near to many starts.
        again = (jnp.abs(found.height - best) < NEAR) & (found.misfit < NEARLY * acceptable)
        is_new = (found.height < best + UNLIKELY) & ~reached
        agreed = jnp.where(is_new, 0, agreed + again)
        everything = jax.tree.map(
            lambda some, one: jnp.concatenate([some, one[None]]), optima, found
        )
        _, lowest = jax.lax.top_k(-everything.height, KEPT)
        return jax.tree.map(lambda leaf: leaf[lowest], everything), scores, turn + 1, agreed

    nowhere = jax.tree.map(lambda leaf: jnp.stack([leaf] * KEPT), _nowhere(guess))
    return jax.lax.while_loop(unfinished, try_next, (nowhere, scores, jnp.array(0), jnp.array(0)))[
        0
    ]


def squared_distances(
    apart: Float[Array, "place optimum active"], curvatures: Float[Array, "optimum active active"]
) -> Float[Array, "place optimum"]:
    """In standard deviations of each optimum: by sums, as products would be many and tiny."""
    pulled = jnp.sum(curvatures * apart[..., None, :], axis=-1)
    return jnp.sum(pulled * apart, axis=-1)


def _nowhere(place: Float[Array, " active"]) -> Optimum:
    """Before anything is known of it."""
    high = jnp.array(jnp.inf)
    return Optimum(place, high, jnp.zeros_like(place), jnp.eye(place.size), high)


class _Search(NamedTuple):
    """Where the search from a start has come to."""

    here: Optimum
    damping: Float[Array, ""]
    move: Float[Array, " active"]
    """What to subtract next."""
    gain: Float[Array, ""]
    """By how much the height can be lowered, as far as the surface is what it looks like."""
    steps: Int[Array, ""]


def _from_one(problem: Problem, start: Float[Array, " active"], steps: int) -> Optimum:
    """The best place found from a start, in so many steps, or fewer if no more is promised."""

    def promising(search: _Search):
        return (search.steps == 0) | ((search.gain > NEAR) & (search.steps <= steps))

    def step(search: _Search) -> _Search:
        # The first step goes nowhere: it only looks around.
        there = _surface(problem, search.here.place - search.move)
        better = there.height < search.here.height
        damping = search.damping * jnp.where(better, 0.2, 5.0)
        here = jax.tree.map(lambda new, old: jnp.where(better, new, old), there, search.here)
        damped = here.curvature + damping * jnp.diag(jnp.diagonal(here.curvature))
        both = jnp.stack([damped, here.curvature])
        move, whole = jax.vmap(solve_positive, (0, None))(both, here.slope)
        # Of the whole move: along a narrow valley a damped one promises little while much is left.
        gain = 0.5 * jnp.sum(here.slope * jnp.where(jnp.isfinite(whole), whole, move))
        return _Search(here, damping, move, gain, search.steps + 1)

    nothing = jnp.array(0.0)
    begin = _Search(_nowhere(start), nothing + 0.25, jnp.zeros_like(start), nothing, jnp.array(0))
    here = jax.lax.while_loop(promising, step, begin).here
    # The last step, where the surface is all but what it looks like from here, costs nothing.
    move = solve_positive(here.curvature, here.slope)
    gain = 0.5 * jnp.sum(here.slope * move)
    gain = jnp.where((gain > 0) & (gain < 1), gain, 0.0)
    return here._replace(
        place=jnp.where(gain > 0, here.place - move, here.place), height=here.height - gain
    )


def scores_of_members(
    problem: Problem,
) -> tuple[Float[Array, " member"], Float[Array, " member"]]:
    """The log-likelihood of each member; and that of the best system near each, as it may be.

    The trajectories of members are known at the times of the grid, and are cubics between them;
    under inputs of their own they are not, and are decoded.
    """
    family = problem.family
    last = len(family.grid) - 1
    position = jnp.clip(problem.context.ts * last, 0, last)
    at_nodes = jnp.eye(last + 1)
    # What interpolates any trajectory, as a matrix: one product for all members.
    smoothly = hermite(position, at_nodes, jnp.asarray(jnp.gradient(at_nodes, axis=0)))
    evenly = hermite(position, at_nodes, jnp.zeros_like(at_nodes))

    def known(member, means, scales):
        return Normal(smoothly @ means, evenly @ scales)

    def decoded(member, means, scales):
        return problem.decoded(family.latent(member), with_grid=False)[0]

    at_context = known if family.response is None else decoded

    def one(member, means, scales):
        found = at_context(member, means, scales)
        near = Normal(found.loc, jnp.sqrt(found.scale**2 + family.spacing**2))
        return problem.log_likelihood(found, means), problem.log_likelihood(near, means)

    parts = (family.members, family.means, family.scales)
    return jax.vmap(one)(*map(jnp.asarray, parts))
