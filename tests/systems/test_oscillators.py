import jax
import numpy as np
import pytest
from numpyro.distributions import Uniform
from scipy.integrate import solve_ivp

from lupi.systems import DampedOscillators, simulate

TIMES = np.linspace(0.0, 10.0, 41)


def damped_mode(times, stiffness, damping, start):
    """The closed form of u'' = -stiffness u - damping u', at rest at `start`."""
    root = np.sqrt(complex(damping**2 / 4 - stiffness))
    fast, slow = -damping / 2 - root, -damping / 2 + root
    return np.real(
        start * (slow * np.exp(fast * times) - fast * np.exp(slow * times)) / (slow - fast)
    )


@pytest.mark.parametrize(("k", "c"), [(0.5, 1.0), (0.2, 2.0), (1.0, 0.5), (0.3, 0.1)])
@pytest.mark.parametrize(("x1", "x2"), [(1.0, -1.0), (1.0, 0.3)])
def test_equal_masses_follow_the_closed_form_of_their_normal_modes(k, c, x1, x2):
    system = DampedOscillators(k=k, c=c, x1=x1, x2=x2)
    observed = simulate(system, TIMES, 1, key=jax.random.key(0)).observed[0]
    together = damped_mode(TIMES, k, c, (x1 + x2) / 2)
    apart = damped_mode(TIMES, 3 * k, c, (x1 - x2) / 2)
    expected = np.stack([together + apart, together - apart], axis=1)
    np.testing.assert_allclose(observed, expected, atol=1e-8)


def test_unequal_masses_and_velocities_agree_with_scipy():
    k, c, m1, m2 = 0.7, 0.4, 2.0, 0.5

    def field(_, state):
        x1, x2, v1, v2 = state
        return [v1, v2, ((x2 - 2 * x1) * k - c * v1) / m1, ((x1 - 2 * x2) * k - c * v2) / m2]

    reference = solve_ivp(
        field, (0, 10), [0.5, -0.2, 0.3, 0.1], t_eval=TIMES, rtol=1e-11, atol=1e-11
    )
    system = DampedOscillators(k=k, c=c, m1=m1, m2=m2, x1=0.5, x2=-0.2, v1=0.3, v2=0.1)
    observed = simulate(system, TIMES, 1, key=jax.random.key(0)).observed[0]
    np.testing.assert_allclose(observed, reference.y[:2].T, atol=1e-7)


def test_the_privileged_value_is_the_stiffness_that_was_drawn():
    system = DampedOscillators(k=Uniform(0.2, 1.0), c=1.0, privileged=("k",))
    trajectories = simulate(system, TIMES, 20, key=jax.random.key(0))
    for k, observed in zip(trajectories.privileged[:, 0], trajectories.observed, strict=True):
        expected = damped_mode(TIMES, 3 * k, 1.0, 1.0)
        np.testing.assert_allclose(observed[:, 0], expected, atol=1e-8)
