import jax
import numpy as np
from numpyro.distributions import Uniform
from scipy.integrate import solve_ivp

from lupi.systems import LotkaVolterra, simulate

TIMES = np.linspace(0.0, 10.0, 51)
FAMILY = LotkaVolterra(u0=Uniform(0.2, 1.0), v0=Uniform(0.1, 0.5), privileged=("V",))


def conserved(u, v, alpha=2 / 3, beta=4 / 3, gamma=1.0, delta=1.0):
    return delta * u - gamma * np.log(u) + beta * v - alpha * np.log(v)


def test_v_is_conserved_along_every_trajectory_and_is_the_privileged_value():
    trajectories = simulate(FAMILY, TIMES, 50, key=jax.random.key(0))
    along = conserved(trajectories.observed[..., 0], trajectories.observed[..., 1])
    np.testing.assert_allclose(
        along, np.broadcast_to(trajectories.privileged, along.shape), rtol=1e-8
    )


def test_v_lies_in_the_range_of_the_papers_data():
    values = simulate(FAMILY, TIMES, 500, key=jax.random.key(0)).privileged
    assert 2.1 < values.min() < values.max() < 3.45


def test_trajectories_agree_with_scipy():
    system = LotkaVolterra(u0=0.4, v0=0.2, alpha=0.9, beta=1.1, gamma=0.8, delta=1.2)

    def field(_, state):
        u, v = state
        return [0.9 * u - 1.1 * u * v, 1.2 * u * v - 0.8 * v]

    reference = solve_ivp(field, (0, 10), [0.4, 0.2], t_eval=TIMES, rtol=1e-11, atol=1e-11)
    observed = simulate(system, TIMES, 1, key=jax.random.key(0)).observed[0]
    np.testing.assert_allclose(observed, reference.y.T, atol=1e-7)
