"""The distributions that everything here is made of.

numpyro has the first two, and is welcome wherever a `Distribution` is asked for. But importing it
takes half a second, a tenth of what it takes to start training.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PRNGKeyArray

from lupi._machinery.compilation import compiled, is_traced, padded_size
from lupi.errors import UserError

if TYPE_CHECKING:
    AnyArray = Any
else:
    AnyArray = Array | np.ndarray
    """Arrays stay NumPy's until a compiled call takes them; wherever one is taken, JAX's may be."""


@runtime_checkable
class Distribution(Protocol):
    """What numbers can be drawn from, such as a distribution of numpyro."""

    def sample(self, key: PRNGKeyArray) -> Float[Array, ""]:
        """One number."""
        ...


class Uniform(eqx.Module):
    """Every number from `low` to `high` is equally likely."""

    low: float
    high: float

    def __check_init__(self):
        if not self.low < self.high:
            raise UserError(
                f"Uniform needs a lower and a higher number, got {self.low} and {self.high}: swap "
                "them, or give a plain number where nothing varies."
            )

    def sample(self, key: PRNGKeyArray) -> Float[Array, ""]:
        """One number."""
        return jax.random.uniform(key, (), minval=self.low, maxval=self.high)

    def log_prob(self, value: Float[AnyArray, "*shape"]) -> Float[Array, "*shape"]:
        """The logarithm of the density at each value."""
        inside = (value >= self.low) & (value <= self.high)
        return jnp.where(inside, -jnp.log(self.high - self.low), -jnp.inf)


class Normal(eqx.Module):
    """Independent Normal distributions, one for each entry of the mean and the scale."""

    loc: Float[AnyArray, "*shape"]
    scale: Float[AnyArray, "*shape"]

    def sample(
        self, key: PRNGKeyArray, shape: tuple[int, ...] = ()
    ) -> Float[Array, "*sample_and_shape"]:
        """An array of samples of this shape, or one."""
        return self.loc + self.scale * jax.random.normal(key, (*shape, *self.loc.shape))

    def log_prob(self, value: Float[AnyArray, "*#shape"]) -> Float[Array, "*shape"]:
        """The logarithm of the density at each value."""
        distance = (value - self.loc) / self.scale
        return -0.5 * distance**2 - jnp.log(math.sqrt(2 * math.pi) * self.scale)


def kl_divergence(p: Normal, q: Normal) -> Float[Array, "*shape"]:
    r"""$KL(p \,\|\, q) = E_p[\log p - \log q]$ of each entry."""
    ratio = (p.scale / q.scale) ** 2
    distance = ((p.loc - q.loc) / q.scale) ** 2
    return 0.5 * (ratio + distance - 1 - jnp.log(ratio))


class AbstractNormalMixture(eqx.Module):
    """At each time and of each observed quantity, the mixture of Normals in equal parts.

    Components stand along the third axis from the end; axes before it, over series, are welcome.
    On NumPy's arrays, of whatever size and precision, nothing is compiled anew for another number
    of times.
    """

    means: eqx.AbstractVar[Float[AnyArray, "*series component time observed"]]
    scales: eqx.AbstractVar[Float[AnyArray, "*series component time observed"]]

    @property
    def mean(self) -> Float[AnyArray, "*series time observed"]:
        """The mean."""
        return _over_components("mean", self.means)

    @property
    def std(self) -> Float[AnyArray, "*series time observed"]:
        """The standard deviation."""
        squares = _over_components("mean", self.scales**2)
        return (_over_components("var", self.means) + squares) ** 0.5

    @property
    def spread(self) -> Normal:
        """A Normal with the mean and the standard deviation of the components' means.

        Of one component there is no spread.
        """
        number = self.means.shape[-3]
        return Normal(self.mean, _over_components("std", self.means, ddof=1 if number > 1 else 0))

    def part(self, some: slice) -> "AbstractNormalMixture":
        """Those of some series, as NumPy arrays."""
        return NormalMixture(np.asarray(self.means[some]), np.asarray(self.scales[some]))

    def component_log_densities(
        self, values: Float[np.ndarray, "*series time observed"]
    ) -> Float[np.ndarray, "*series component time observed"]:
        """The logarithm of the density of each component at each value."""
        means, scales = np.asarray(self.means, float), np.asarray(self.scales, float)
        distance = (np.expand_dims(values, -3) - means) / scales
        return -0.5 * distance**2 - np.log(np.sqrt(2 * np.pi) * scales)

    def log_density(
        self, values: Float[AnyArray, "*series time observed"]
    ) -> Float[AnyArray, "*series time observed"]:
        """The logarithm of the probability density at each value; NaN stays NaN."""
        found, _, unit = _of_cells(_log_density, self, values)
        return found - jnp.log(unit) if is_traced(found) else found - np.log(unit)

    def probability_below(
        self, values: Float[AnyArray, "*values_and_series time observed"]
    ) -> Float[AnyArray, "*values_and_series time observed"]:
        """The probability of less than each value, or each of several; NaN stays NaN."""
        return _of_cells(_probability_below, self, values)[0]

    def crps(
        self, values: Float[AnyArray, "*series time observed"]
    ) -> Float[AnyArray, "*series time observed"]:
        r"""The continuous ranked probability score of each value, in its unit; smaller is better.

        $$\int (F(x) - 1\{x \ge y\})^2 dx$$ in its closed form (Grimit et al., 2006). NaN stays NaN.
        """
        found, _, unit = _of_cells(_crps, self, values)
        return found * unit

    def quantile(
        self, level: float | Sequence[float] | Float[AnyArray, " level"]
    ) -> Float[AnyArray, "*level_and_series time observed"]:
        """The values below which this share of the probability lies; a list gives one each."""
        try:
            levels = np.atleast_1d(np.asarray(level, np.float32))
        except (TypeError, ValueError):
            levels = np.zeros(0)
        if levels.ndim != 1 or levels.size == 0 or not ((levels > 0) & (levels < 1)).all():
            raise UserError(
                f"quantile levels must be numbers between 0 and 1, one or a list, got {level}."
            )
        found, center, unit = _of_cells(_quantiles, self, levels=levels)
        values = found * unit + center
        return values if np.ndim(level) else values[0]

    def interval(
        self, *, coverage: float = 0.9
    ) -> tuple[Float[AnyArray, "*series time observed"], Float[AnyArray, "*series time observed"]]:
        """The lower and upper ends of the central interval with this share of the probability."""
        if not isinstance(coverage, int | float | np.number) or not 0 < coverage < 1:
            raise UserError(f"coverage must be between 0 and 1, got {coverage}: try 0.9.")
        lower, upper = self.quantile([(1 - coverage) / 2, (1 + coverage) / 2])
        return lower, upper


class NormalMixture(AbstractNormalMixture):
    """A mixture and nothing else."""

    means: Float[AnyArray, "*series component time observed"]
    scales: Float[AnyArray, "*series component time observed"]


def _over_components(name: str, values: AnyArray, **how: Any) -> AnyArray:
    """The mean, variance or standard deviation over components.

    NumPy adds one to the other and rounds each sum: in float32 the mean of a million numbers near 3
    is 0.02 off. XLA adds them in parts.
    """
    if not isinstance(values, np.ndarray):
        return getattr(values, name)(axis=-3, **how)
    return getattr(values, name)(axis=-3, dtype=float, **how).astype(values.dtype)


def draw_components(
    mixture: AbstractNormalMixture, key: Key[Array, "*series"]
) -> Float[AnyArray, "*series component time observed"]:
    """One draw from each component of a mixture.

    It is the same whatever the number of components and of later times.
    """
    *_, components, times, observed = mixture.means.shape
    if is_traced((mixture.means, mixture.scales, key)):
        draw: Callable = partial(_noise, shape=(components, times, observed))
        for _ in key.shape:
            draw = jax.vmap(draw)
        return mixture.means + mixture.scales * draw(key)
    # Of few components much room, so that little is compiled; of many it would take minutes.
    room = padded_size(times, 128 if components <= MANY_COMPONENTS else 1)
    fitting = max(NUMBERS_AT_ONCE // (room * observed), 1)
    at_once = min(padded_size(components, 64), 1 << fitting.bit_length() - 1)
    draw = compiled(_noise, brief=True)
    noise = np.empty((key.size, components, times, observed), np.float32)
    with jax.ensure_compile_time_eval():  # also where a traced function closes over everything
        for row, one in zip(noise, key.reshape(-1), strict=True):
            for start in range(0, components, at_once):
                found = draw(one, (at_once, room, observed), np.array(start))
                row[start : start + at_once] = np.asarray(found)[: components - start, :times]
    means, scales = np.asarray(mixture.means), np.asarray(mixture.scales)
    return means + scales * noise.reshape(means.shape)


def _noise(key: PRNGKeyArray, shape: tuple[int, int, int], first: Any = 0):
    """Of so many components from the first on, each with a key of its own."""
    keys = jax.vmap(partial(jax.random.fold_in, key))(first + jnp.arange(shape[0]))
    return jax.vmap(lambda key: jax.random.normal(key, shape[1:]))(keys)


def normal_cdf(z: Float[AnyArray, "*shape"]) -> Float[Array, "*shape"]:
    """The probability that a standard Normal number is below each of these, to 2e-7.

    Formula 7.1.26 of Abramowitz and Stegun: one exponential. XLA's own `erf` takes forty times as
    long on a CPU, `ndtr` seven times.
    """
    return _cdf_and_bell(z)[0]


def _cdf_and_bell(z):
    """The probability, and the exponential that it is made from: the density, but for a factor."""
    x = jnp.abs(z) * math.sqrt(0.5)
    t = 1 / (1 + 0.3275911 * x)
    series = jnp.zeros_like(t)
    for coefficient in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = t * (coefficient + series)
    bell = jnp.exp(-(x**2))
    tail = 0.5 * series * bell
    return jnp.where(z < 0, tail, 1 - tail), bell


CELLS_AT_ONCE = 2**11
"""Of a time and a quantity: few enough that what is computed of them stays in the cache."""

SMALLEST_CELLS = 256
"""Numbers of them that something is compiled for, from here on in powers of two."""

NUMBERS_AT_ONCE = 2**23
"""Of components times cells, at most: of very many components some cells after the others."""

MANY_COMPONENTS = 2**12
"""From here on what is computed counts for more than what is compiled."""

MOST_STEPS, NEAR, LEAST = 40, 1e-5, 6e-8
"""Towards a quantile; the step of Newton's, in standard deviations, after which there is none left,
since its error is that step squared; and what float32 can tell of a probability. Most need five."""


def _log_density(means, scales, values):
    densities = Normal(means, scales).log_prob(jnp.expand_dims(values, -3))
    return jax.nn.logsumexp(densities, axis=-3) - jnp.log(means.shape[-3])


def _probability_below(means, scales, values):
    if values.ndim == means.ndim:  # several at each time
        return jax.lax.map(partial(_probability_below, means, scales), values)
    return normal_cdf((jnp.expand_dims(values, -3) - means) / scales).mean(axis=-3)


def _quantiles(means, scales, levels):
    def one(level):
        # It lies between the smallest and the largest of the components' own.
        normal = jax.scipy.special.ndtri(level)
        of_components = means + scales * normal
        lower, upper = of_components.min(axis=-3), of_components.max(axis=-3)
        first = jnp.clip(normal, lower, upper)  # as if the mixture were Normal
        begin = (lower, upper, first, upper - lower, lower == upper)

        def improve(state):
            """Newton's step where it is short enough to end, and half the bracket where not."""
            lower, upper, value, step, done = state
            below, bell = _cdf_and_bell((value[..., None, :, :] - means) / scales)
            error = below.mean(axis=-3) - level
            density = (bell / scales).mean(axis=-3) / math.sqrt(2 * math.pi)
            lower = jnp.where(error < 0, value, lower)
            upper = jnp.where(error < 0, upper, value)
            newton = value - error / jnp.maximum(density, jnp.finfo(density.dtype).tiny)
            good = (newton >= lower) & (newton <= upper) & (jnp.abs(newton - value) < step / 2)
            following = jnp.where(good, newton, (lower + upper) / 2)
            # What is found stays: no cell depends on how long others take.
            done |= jnp.abs(error) < LEAST
            moved = jnp.abs(following - value)
            following = jnp.where(done, value, following)
            done |= jnp.where(good, moved < NEAR, upper - lower < NEAR / 10)
            return lower, upper, following, moved, done

        def go_on(counted):
            return (counted[0] < MOST_STEPS) & ~counted[1][-1].all()

        _, state = jax.lax.while_loop(go_on, lambda c: (c[0] + 1, improve(c[1])), (0, begin))
        return state[2]

    return jax.lax.map(one, levels)


def _crps(means, scales, values):
    def expected_distance(distance, scale):
        z = distance / scale
        density = jnp.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
        return 2 * scale * density + distance * (2 * normal_cdf(z) - 1)

    def add(total, component):
        mean, scale = (jnp.expand_dims(part, -3) for part in component)
        apart = expected_distance(means - mean, jnp.sqrt(scales**2 + scale**2))
        return total + apart.mean(axis=-3), None

    # One component after another: all pairs at once would not fit the cache.
    components = (jnp.moveaxis(means, -3, 0), jnp.moveaxis(scales, -3, 0))
    total, _ = jax.lax.scan(add, jnp.zeros_like(values), components)
    to_value = expected_distance(jnp.expand_dims(values, -3) - means, scales).mean(axis=-3)
    return to_value - 0.5 * total / means.shape[-3]


def _of_cells(
    function: Callable, mixture: AbstractNormalMixture, values: Any = None, *, levels: Any = None
):
    """A function of mixtures at each of their times and quantities, and the unit it is in.

    Numbers go in relative to each mixture's own mean and standard deviation, so that float32 is
    exact enough for large numbers with small differences; both come back with the result. What runs
    is compiled for blocks of few sizes, unless it is part of another compiled function.
    """
    if is_traced((mixture.means, mixture.scales, values)):
        center, unit = mixture.mean, mixture.std
        spans = unit[..., None, :, :]
        means = (mixture.means - center[..., None, :, :]) / spans
        last = jnp.asarray(levels) if values is None else (values - center) / unit
        return function(means, mixture.scales / spans, last), center, unit

    # NumPy first: in a traced function that closes over it JAX would trace these too.
    parts = [np.asarray(mixture.means), np.asarray(mixture.scales)]
    shape = parts[0].shape[:-3] + parts[0].shape[-2:]
    means, scales = (np.moveaxis(part, -3, 0).reshape(part.shape[-3], -1) for part in parts)
    several = np.shape(values)[: max(np.ndim(values) - len(shape), 0)]
    if values is not None:
        values = np.asarray(values).reshape(*several, -1)
    run, found = compiled(function, brief=False), []
    fitting = max(NUMBERS_AT_ONCE // len(means), 1)
    at_once = min(CELLS_AT_ONCE, 1 << fitting.bit_length() - 1)
    smallest = min(SMALLEST_CELLS, at_once)
    for start in range(0, max(means.shape[1], 1), at_once):
        some = slice(start, start + at_once)
        shift, span = _own_unit(means[:, some], scales[:, some])
        parts = [(means[:, some] - shift) / span, scales[:, some] / span]
        if values is None:
            last = np.resize(levels, padded_size(len(levels), 1))
        else:
            with np.errstate(over="ignore"):  # infinitely far is far enough
                distances = (values[..., some] - shift) / span
                last = _filled(distances.astype(np.float32), smallest)[..., None, :]
        # As one time of many quantities: XLA makes vectors of the last axis.
        blocks = [_filled(part.astype(np.float32), smallest)[:, None] for part in parts]
        result = np.asarray(run(*blocks, last))[..., 0, : len(shift)].astype(means.dtype)
        found.append((result, shift, span))
    result, center, unit = (np.concatenate(some, axis=-1) for some in zip(*found, strict=True))
    center, unit = center.reshape(shape), unit.reshape(shape)
    if values is None:
        return result[: len(levels)].reshape(len(levels), *shape), center, unit
    return result.reshape(*several, *shape), center, unit


def _own_unit(means: np.ndarray, scales: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each mixture, the same to the last bit whatever stands beside
    it: NumPy adds in another order where there is more."""
    center = means.mean(axis=0, dtype=float)
    variance = np.square(means - center).mean(axis=0) + np.square(scales, dtype=float).mean(axis=0)
    return center.astype(means.dtype), np.sqrt(variance).astype(means.dtype)


def _filled(cells: np.ndarray, smallest: int) -> np.ndarray:
    """So many along the last axis as something is compiled for: those there are, and ones."""
    missing = padded_size(cells.shape[-1], smallest) - cells.shape[-1]
    return np.pad(cells, [(0, 0)] * (cells.ndim - 1) + [(0, missing)], constant_values=1)
