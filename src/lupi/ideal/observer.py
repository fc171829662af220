"""The observer who knows the equations, the distribution of their parameters, and the noise."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from lupi._machinery.compilation import compiled, is_traced
from lupi.data import Observations
from lupi.distributions import AnyArray, Distribution
from lupi.errors import UserError
from lupi.ideal.importance import effective_size, pick
from lupi.ideal.refinement import STARTS, refined
from lupi.ideal.solutions import Bank, enough_steps, make_bank, observed
from lupi.models import AbstractPredictor, Prediction
from lupi.prediction import SMALLEST_CONTEXT, check_context, pad
from lupi.systems import System

Columns = float | Sequence[float] | Float[AnyArray, " observation"]
"""One number for each observed column, or one for all."""


LATEST = 1 + 1e-4
"""Time of a context: the horizon, and what rounding may add to it."""


class Posterior(eqx.Module):
    """What is known of a system once it was observed: weighted members of its family."""

    members: System
    """With a leading axis in every field."""
    log_weights: Float[Array, " member"]

    @property
    def effective_size(self) -> Float[Array, ""]:
        """How many members of equal weight these are worth."""
        return effective_size(self.log_weights)

    def draw(self, num: int, *, key: PRNGKeyArray) -> Any:
        """So many members, each of equal weight."""
        chosen = pick(jax.nn.softmax(self.log_weights), num, key=key)
        return jax.tree.map(lambda leaf: leaf[chosen], self.members)


class IdealObserver(AbstractPredictor):
    """Exact Bayesian inference over the members of a family: what no forecaster can do better.

    It knows the equations, the distribution of the parameters and the noise, and finds the
    posterior by importance sampling: from a bank of members, solved once, and from members that
    are drawn and solved for each context, nearer and nearer to it. `effective_sample_size` says how
    well that went.

    The context must lie within the horizon; if it does not, forecasts are NaN. There is the bank
    alone where the distribution of a parameter has no `log_prob` or is discrete, and where a system
    has a `sample` of its own.
    """

    system: System
    bank: Bank
    points: Float[AnyArray, "member parameter"]
    """What varies, of the bank's members, in standard deviations from the mean."""
    center: Float[AnyArray, " parameter"]
    spread: Float[AnyArray, " parameter"]
    """These means and standard deviations."""
    time_unit: Float[AnyArray, ""]
    noise: Float[AnyArray, " observation"]
    observed_mean: Float[AnyArray, " observation"]
    observed_scale: Float[AnyArray, " observation"]
    num_refined: int = eqx.field(static=True)

    @classmethod
    def of(
        cls,
        system: System,
        *,
        horizon: float,
        noise: Columns,
        num_members: int = 4096,
        num_refined: int = 512,
        observed_mean: Columns = 0.0,
        observed_scale: Columns = 1.0,
        key: PRNGKeyArray,
    ) -> "IdealObserver":
        """The ideal observer of a family.

        It sees and predicts times from 0 to 1, in units of `horizon`, and values
        (y - `observed_mean`) / `observed_scale`. `noise` is the standard deviation of what is added
        to each observed column, in the system's units; less than a thousandth of the column's own
        over the family is taken to be that. `num_members` are in the bank, `num_refined` are drawn
        for a context in each of three rounds.

        The solver takes as many steps as keep its largest error, against `simulate`, below a
        twentieth of the noise.
        """
        if not (np.isfinite(horizon) and horizon > 0):
            raise UserError(f"horizon must be a positive number, got {horizon}.")
        if min(num_members, num_refined) < STARTS:
            raise UserError(
                f"num_members and num_refined must be at least {STARTS}, got {num_members} and "
                f"{num_refined}: thousands and hundreds are usual."
            )
        given, mean, scale = (
            _for_columns(name, values, len(system.observed))
            for name, values in (
                ("noise", noise),
                ("observed_mean", observed_mean),
                ("observed_scale", observed_scale),
            )
        )
        if (given < 0).any() or (scale <= 0).any():
            raise UserError(
                "noise must be 0 or more and observed_scale more than 0, got "
                f"{noise} and {observed_scale}: both are standard deviations."
            )
        bank_key, steps_key = jax.random.split(key)
        steps, sigma = enough_steps(system, given, time_unit=horizon, key=steps_key)
        bank = make_bank(system, num_members, time_unit=horizon, steps=steps, key=bank_key)
        parameters = _parameters(system, bank)
        if parameters.size:
            order = np.argsort(parameters[:, 0])
            bank, parameters = bank.only(order), parameters[order]
        center, spread = parameters.mean(axis=0), parameters.std(axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        numbers = {
            "points": (parameters - center) / spread,
            "center": center,
            "spread": spread,
            "time_unit": np.asarray(horizon),
            "noise": sigma,
            "observed_mean": mean,
            "observed_scale": scale,
        }
        numbers = {name: values.astype(np.float32) for name, values in numbers.items()}
        return cls(system=system, bank=bank, num_refined=num_refined, **numbers)  # pyright: ignore[reportCallIssue]

    @property
    def observation_size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How many quantities are observed."""
        return len(self.system.observed)

    @property
    def steps(self) -> int:
        """Of the solver, to a unit of time."""
        return len(self.bank.states) - 1

    @property
    def refines(self) -> bool:
        """Whether there are other members than the bank's: where the prior's density is known."""
        varying = self.system.varying().values()
        own_sample = type(self.system).sample is not System.sample
        return bool(varying) and not own_sample and all(map(_has_density, varying))

    def predict(
        self,
        context: Observations,
        times: Float[AnyArray, " time"],
        *,
        num_samples: int,
        horizon: int,
        key: PRNGKeyArray,
    ) -> Prediction:
        """One Normal for each of `num_samples` members of the posterior: its trajectory, and noise.

        Of a forecast much wider than the noise 32 Normals are a rough picture: where its density
        matters, take hundreds.
        """
        posterior_key, member_key, noise_key = jax.random.split(key, 3)
        members = self.posterior(context, key=posterior_key).draw(num_samples, key=member_key)

        def of_member(member):
            sizes = {"steps": self.steps, "horizon": horizon}
            return observed(member, times, time_unit=self.time_unit, **sizes)

        means = (jax.vmap(of_member)(members) - self.observed_mean) / self.observed_scale
        scales = jnp.broadcast_to(self.noise / self.observed_scale, means.shape)
        return Prediction(jnp.asarray(times), means, scales, noise_key)

    def posterior(self, context: Observations, *, key: PRNGKeyArray) -> Posterior:
        """The members of the family that may be behind a context, and how likely each is."""
        check_context(self, context)
        if not is_traced(context):
            last = np.max(np.asarray(context.ts)[np.asarray(context.mask)], initial=0.0)
            if last > LATEST:
                raise UserError(
                    f"a context must lie within the observer's horizon, got one until {last:g} of "
                    "it: make an observer of a longer horizon."
                )
            context = jax.tree.map(lambda leaf: pad(np.asarray(leaf), SMALLEST_CONTEXT), context)
        return compiled(_posterior, brief=False)(self, context, key)

    def privileged(
        self, context: Observations, *, num_samples: int, key: PRNGKeyArray
    ) -> Float[Array, "sample privileged"]:
        """Samples of the privileged quantities of the system behind a context."""
        if not self.system.privileged:
            name = type(self.system).__name__
            raise UserError(
                f"{name} was given no privileged quantities: name them, as in "
                f"{name}(..., privileged=(...,))."
            )
        posterior_key, member_key, _ = jax.random.split(key, 3)  # as in `predict`
        posterior = self.posterior(context, key=posterior_key)
        return compiled(_privileged, brief=True)(posterior, num_samples, member_key)

    def effective_sample_size(
        self, context: Observations, *, key: PRNGKeyArray
    ) -> Float[Array, ""]:
        """How many independent draws from the posterior its weighted members are worth.

        Below a hundred the forecast may not be the ideal one: take more members.
        """
        posterior_key, *_ = jax.random.split(key, 3)  # as in `predict`
        return self.posterior(context, key=posterior_key).effective_size

    def log_likelihoods_of_bank(self, context: Observations) -> Float[Array, " member"]:
        """How likely a context is, of each member of the bank, up to a constant."""

        def add(total, point):
            t, y, known = point
            distances = self._distances(self.bank.at(t), y, known)
            return total - 0.5 * (distances**2).sum(axis=-1), None

        # One time after another: all at once would not fit the cache.
        none = jnp.zeros(self.bank.states.shape[1])
        return jax.lax.scan(add, none, (context.ts, context.ys, context.known))[0]

    def residuals(
        self, context: Observations, point: Float[Array, " parameter"]
    ) -> Float[Array, " value"]:
        """How far a context is from the member at a point, in standard deviations of the noise."""
        values = observed(
            self.member(point), context.ts, time_unit=self.time_unit, steps=self.steps
        )
        return self._distances(values, context.ys, context.known).ravel()

    def member(self, point: Float[Array, " parameter"]) -> System:
        """The member of the family at a point."""
        return self.system.member(self._values(point))

    def log_prior(self, point: Float[Array, " parameter"]) -> Float[Array, ""]:
        """The logarithm of the density of a point."""
        varying, values = self.system.varying(), self._values(point)
        found = [_log_density(varying[name], value) for name, value in values.items()]
        return jnp.stack(found).sum() + jnp.log(self.spread).sum()

    def _values(self, point: Float[Array, " parameter"]) -> dict[str, Float[Array, ""]]:
        """The parameters at a point, which is in standard deviations from their means."""
        return dict(zip(self.system.varying(), self.center + self.spread * point, strict=True))

    def _distances(self, values, ys, known):
        """In standard deviations of the noise, from values in the system's units."""
        ys = self.observed_mean + self.observed_scale * ys
        return jnp.where(known, (values - ys) / self.noise, 0.0)


def _parameters(system: System, bank: Bank) -> Float[np.ndarray, "member parameter"]:
    """What varies, of each member of a bank."""
    columns = []
    for name in system.varying():
        columns.append(getattr(bank.members, name))
        if columns[-1].ndim != 1:
            raise UserError(
                f"the distribution of {name} gives arrays of shape {columns[-1].shape[1:]}, "
                "expected single numbers: make it several parameters."
            )
    nothing = np.zeros((bank.states.shape[1], 0))
    return np.stack(columns, axis=-1).astype(float) if columns else nothing


def _for_columns(name: str, values: Any, columns: int) -> Float[np.ndarray, " observation"]:
    found = np.asarray(values, float)
    if found.shape not in ((), (columns,)) or not np.isfinite(found).all():
        raise UserError(
            f"{name} must be one finite number, or one for each of the {columns} observed columns, "
            f"got {values}."
        )
    return np.broadcast_to(found, (columns,))


def _has_density(distribution: Distribution) -> bool:
    return hasattr(distribution, "log_prob") and not getattr(distribution, "is_discrete", False)


def _log_density(distribution: Any, value: Float[Array, ""]) -> Float[Array, ""]:
    """The logarithm of the density; outside of the support, of 0."""
    found = distribution.log_prob(value)
    inside = ~jnp.isnan(found)
    if hasattr(distribution, "support"):  # which numpyro's densities do not look at
        inside &= distribution.support(value)
    return jnp.where(inside, found, -jnp.inf)


def _posterior(observer: IdealObserver, context: Observations, key: PRNGKeyArray) -> Posterior:
    """Of a context in the order of time, so that no bit of it depends on the order it came in."""
    order = jnp.argsort(jnp.where(context.mask, context.ts, jnp.inf))
    context = jax.tree.map(lambda leaf: jnp.asarray(leaf)[order], context)
    ts = jnp.where(context.mask, context.ts, 0.0)
    context = Observations(ts, context.ys, context.mask, context.gaps, context.inputs)
    members, log_weights = observer.bank.members, observer.log_likelihoods_of_bank(context)
    if observer.refines:
        points, log_weights = refined(
            jnp.asarray(observer.points),
            log_weights,
            partial(observer.residuals, context),
            observer.log_prior,
            num_points=observer.num_refined,
            key=key,
        )
        members = jax.vmap(observer.member)(points)
    inside = (ts <= LATEST).all()
    found = Posterior(members, jax.nn.log_softmax(log_weights))
    return jax.tree.map(lambda leaf: jnp.where(inside, leaf, jnp.nan), found)


def _privileged(posterior: Posterior, num_samples: int, key: PRNGKeyArray):
    members = posterior.draw(num_samples, key=key)
    return jax.vmap(lambda member: member.privileged_values())(members)
