import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.distributions import Uniform

from lupi.errors import UserError
from lupi.systems import DampedOscillators, Parameter, System, simulate

FAMILY = DampedOscillators(k=Uniform(0.2, 1.0), privileged=("k",))
TIMES = np.linspace(0.0, 10.0, 11)


def test_the_same_key_gives_the_same_trajectories_and_another_key_others():
    first = simulate(FAMILY, TIMES, 5, key=jax.random.key(0))
    again = simulate(FAMILY, TIMES, 5, key=jax.random.key(0))
    other = simulate(FAMILY, TIMES, 5, key=jax.random.key(1))
    np.testing.assert_array_equal(first.observed, again.observed)
    assert np.abs(first.privileged - other.privileged).min() > 1e-6


def test_the_same_key_on_another_grid_gives_the_same_systems():
    coarse = simulate(FAMILY, TIMES, 5, key=jax.random.key(0))
    fine = simulate(FAMILY, np.linspace(0.0, 10.0, 21), 5, key=jax.random.key(0))
    np.testing.assert_allclose(fine.observed[:, ::2], coarse.observed, atol=1e-8)


def test_results_are_float64_and_leave_the_callers_precision_alone():
    assert simulate(FAMILY, TIMES, 2, key=jax.random.key(0)).observed.dtype == np.float64
    assert jnp.zeros(1).dtype == jnp.float32


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([1.0, 0.5], "increase"),
        ([0.0, np.nan], "finite"),
        ([-1.0, 0.0], "start at 0"),
        ([], "start at 0"),
    ],
)
def test_bad_times_are_refused(times, message):
    with pytest.raises(UserError, match=message):
        simulate(FAMILY, np.array(times), 1, key=jax.random.key(0))


class Explosion(System):
    """x' = x^2, whose solution x0 / (1 - x0 t) ends at t = 1 / x0."""

    observed = ("x",)
    x: Parameter = 1.0

    def initial_state(self):
        return jnp.stack([self.x])

    def vector_field(self, time, state):
        return state**2


def test_a_system_that_blows_up_is_an_error_that_says_how_many():
    family, key = Explosion(x=Uniform(0.2, 0.8), privileged=("x",)), jax.random.key(0)
    at_half = simulate(family, np.array([0.0, 1.0]), 20, key=key)
    starts = at_half.privileged[:, 0]
    np.testing.assert_allclose(at_half.observed[:, 1, 0], starts / (1 - starts), rtol=1e-8)
    failing = (starts > 0.5).sum()
    assert 0 < failing < 20
    with pytest.raises(UserError, match=f"{failing} of 20 systems could not be integrated"):
        simulate(family, np.array([0.0, 2.0]), 20, key=key)


def test_systems_that_are_stiff_at_other_times_are_all_solved_exactly():
    class Turn(System):
        """x' = -(x - cos t) * rate, slow or fast, from 0."""

        observed = ("x",)
        rate: Parameter = 1.0

        def initial_state(self):
            return jnp.zeros(1)

        def vector_field(self, time, state):
            return -self.rate * (state - jnp.cos(time))

    family, times = Turn(rate=Uniform(0.1, 100.0), privileged=("rate",)), np.linspace(0, 5, 11)
    found = simulate(family, times, 30, key=jax.random.key(0))
    rate = found.privileged
    exact = rate * (rate * np.cos(times) + np.sin(times) - rate * np.exp(-rate * times))
    np.testing.assert_allclose(found.observed[..., 0], exact / (1 + rate**2), atol=1e-8)
