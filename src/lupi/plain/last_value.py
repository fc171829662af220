"""A plain guess: the last value stays."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from lupi.data.observations import Observations, Task
from lupi.distributions import AnyArray
from lupi.models import AbstractPredictor, Prediction

LAGS = 16
"""Time differences at which it is known how far values move."""

MOST_PAIRS = 100_000
"""Of points that are compared; of more a random choice."""

SMALLEST_STD = 1e-3


class LastValue(AbstractPredictor):
    """The value observed last before a time, or else first after it.

    Its spread is how far values of the training systems move in as much time. Where nothing was
    observed it is the mean of all values and their scatter.
    """

    lags: Float[AnyArray, " lag"]
    moves: Float[AnyArray, "lag observation"]
    """The root mean square of the differences at each of them."""
    mean: Float[AnyArray, " observation"]
    std: Float[AnyArray, " observation"]

    @classmethod
    def of(cls, tasks: Task) -> "LastValue":
        """Of training systems."""
        seen = tasks.observations
        ts, ys = np.asarray(seen.ts, float), np.asarray(seen.ys, float)
        known = np.broadcast_to(np.asarray(seen.known), ys.shape)
        lags = np.linspace(0.0, 1.0, LAGS)
        columns = [_moves(lags, ts, ys[..., j], known[..., j]) for j in range(ys.shape[-1])]
        there = [ys[..., j][known[..., j]] for j in range(ys.shape[-1])]
        parts = (
            lags,
            np.maximum(np.stack(columns, axis=-1), SMALLEST_STD),
            np.array([values.mean() for values in there]),
            np.array([max(values.std(), SMALLEST_STD) for values in there]),
        )
        lags, moves, mean, std = (part.astype(np.float32) for part in parts)
        return cls(lags=lags, moves=moves, mean=mean, std=std)  # pyright: ignore[reportCallIssue]

    @property
    def observation_size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How many quantities are observed."""
        return self.moves.shape[-1]

    def predict(
        self,
        context: Observations,
        times: Float[AnyArray, " time"],
        *,
        num_samples: int,
        horizon: int,
        key: PRNGKeyArray,
    ) -> Prediction:
        """One Normal at each time."""
        known = jnp.broadcast_to(context.known, context.ys.shape)

        def of_column(ys, there, moves, mean, std):
            # The latest before, then the earliest after, then what is not there.
            since = times[:, None] - context.ts
            order = jnp.where(there, jnp.where(since >= 0, since, 1e3 - since), jnp.inf)
            order = jnp.concatenate([order, jnp.full((len(times), 1), 1e9)], axis=1)
            chosen = jnp.argmin(order, axis=1)
            values = jnp.append(ys, mean)[chosen]
            lag = jnp.append(context.ts, 0.0)[chosen] - times
            scales = jnp.interp(jnp.abs(lag), self.lags, moves)
            return values, jnp.where(chosen == len(ys), std, scales)

        values, scales = jax.vmap(of_column, in_axes=(1, 1, 1, 0, 0), out_axes=1)(
            jnp.asarray(context.ys), known, *map(jnp.asarray, (self.moves, self.mean, self.std))
        )
        return Prediction(jnp.asarray(times), values[None], scales[None], key)


def _moves(lags, ts, ys, known) -> Float[np.ndarray, " lag"]:
    """How far values move in each time, from all pairs of points of each system."""
    found, squares = [], []
    for times, values, there in zip(ts, ys, known, strict=True):
        i, j = np.triu_indices(int(there.sum()), 1)
        found.append(np.abs(times[there][i] - times[there][j]))
        squares.append((values[there][i] - values[there][j]) ** 2)
    lag, square = np.concatenate(found), np.concatenate(squares)
    if len(lag) == 0:
        return np.ones(len(lags))
    if len(lag) > MOST_PAIRS:
        chosen = np.random.default_rng(0).choice(len(lag), MOST_PAIRS, replace=False)
        lag, square = lag[chosen], square[chosen]
    # Pairs near to a lag count for it, the nearer the more.
    weights = np.maximum(1e-9, 1 - (LAGS - 1) * np.abs(lag - lags[:, None]))
    return np.sqrt(np.maximum.accumulate(weights @ square / weights.sum(axis=1)))
