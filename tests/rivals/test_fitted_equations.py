"""The true equations, fitted: against scipy's least squares on a closed form."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import curve_fit

from lupi.data import Observations, Task
from lupi.distributions import Uniform
from lupi.errors import UserError
from lupi.ideal import IdealObserver
from lupi.prediction import predict_many
from lupi.rivals import RIVALS
from lupi.systems import Parameter, System

NOISE = 0.05
TRAINING = Task(
    Observations(np.zeros((1, 2), np.float32), np.zeros((1, 2, 1), np.float32)),
    np.zeros((1, 0), np.float32),
)


class Decay(System):
    observed = ("amount",)
    rate: Parameter = 1.0
    start: Parameter = 1.0

    def initial_state(self):
        return jnp.array([self.start])

    def vector_field(self, time, state):
        return -self.rate * state


@pytest.fixture(scope="module")
def fitted():
    system = Decay(rate=Uniform(0.5, 3.0), start=Uniform(0.5, 2.0))
    sizes = {"num_members": 256, "num_refined": 32}
    ideal = IdealObserver.of(system, horizon=2.0, noise=NOISE, **sizes, key=jax.random.key(0))
    return RIVALS["equations"].learn(TRAINING, ideal, jax.random.key(1))


def seen(number: int, room: int = 16) -> Observations:
    """Points of one system, at times in units of the horizon, and padding."""
    rng = np.random.default_rng(3)
    ts, known = rng.uniform(0, 1, room), np.arange(room) < number
    ys = 1.2 * np.exp(-1.7 * 2 * ts) + NOISE * rng.standard_normal(room)
    ts, ys = (np.where(known, part, 99.0).astype(np.float32) for part in (ts, ys))
    return Observations(ts, ys[:, None], known)


def test_parameters_and_their_covariance_are_those_of_least_squares(fitted):
    context = seen(16)
    centre, root = eqx.filter_jit(fitted.fit)(context, key=jax.random.key(0))
    observer = fitted.observer
    found = observer.center + observer.spread * np.asarray(centre)
    covariance = np.outer(observer.spread, observer.spread) * np.asarray(root @ root.T)
    expected, expected_covariance = curve_fit(
        lambda t, rate, start: start * np.exp(-rate * t),
        2.0 * context.ts,
        context.ys[:, 0],
        p0=[1.0, 1.0],
        sigma=np.full(16, NOISE),
        absolute_sigma=True,
    )
    np.testing.assert_allclose(found, expected, rtol=1e-3)
    # Its own is narrower by what is known of the family, here next to nothing.
    np.testing.assert_allclose(covariance, expected_covariance, rtol=0.1)


@pytest.fixture(scope="module")
def forecasts(fitted):
    """From nothing, and from sixteen points."""
    contexts = jax.tree.map(lambda *parts: np.stack(parts), seen(0), seen(16))
    times = np.broadcast_to(np.linspace(0, 1, 8, dtype=np.float32), (2, 8))
    return predict_many(fitted, contexts, times, num_samples=64, keys=jax.random.key(2))


def test_from_nothing_it_takes_the_middle_of_the_family(forecasts):
    expected = 1.25 * np.exp(-1.75 * 2 * forecasts.ts[0])
    np.testing.assert_allclose(np.median(forecasts.means[0, ..., 0], axis=0), expected, atol=0.2)
    assert forecasts.std[0, 0, 0] > 0.2


def test_from_many_points_it_is_sure(forecasts):
    expected = 1.2 * np.exp(-1.7 * 2 * forecasts.ts[1])
    np.testing.assert_allclose(forecasts.mean[1, :, 0], expected, atol=0.05)
    assert forecasts.std[1].max() < 0.08


@pytest.mark.parametrize("name", [name for name in RIVALS if RIVALS[name].needs_equations])
def test_without_equations_it_says_so(name):
    with pytest.raises(UserError, match="expected simulated systems"):
        RIVALS[name].learn(TRAINING, None, jax.random.key(0))
