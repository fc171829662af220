import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.distributions import Uniform

from lupi.errors import UserError
from lupi.systems import DampedOscillators, Parameter, System, simulate


class Decay(System):
    """A user's own system, in a few lines: exponential decay, seen as its logarithm."""

    observed = ("log_mass",)
    rate: Parameter = 1.0
    mass: Parameter = 2.0

    @property
    def half_life(self):
        return jnp.log(2.0) / self.rate

    def initial_state(self):
        return jnp.stack([self.mass])

    def vector_field(self, time, state):
        return -self.rate * state

    def observe(self, state):
        return jnp.log(state)


def test_a_users_system_is_sampled_simulated_and_observed():
    family = Decay(rate=Uniform(0.5, 1.5), privileged=("half_life",))
    times = np.linspace(0.0, 2.0, 9)
    trajectories = simulate(family, times, 7, key=jax.random.key(0))
    rates = np.log(2.0) / trajectories.privileged
    np.testing.assert_allclose(
        trajectories.observed[..., 0], np.log(2.0) - rates * times, atol=1e-8
    )


def test_sampling_draws_distributions_and_keeps_numbers():
    member = DampedOscillators(k=Uniform(0.2, 1.0), c=0.7).sample(key=jax.random.key(3))
    assert 0.2 <= float(member.k) <= 1.0
    assert float(member.c) == pytest.approx(0.7)


def test_a_privileged_name_that_does_not_exist_is_refused_with_the_names_that_do():
    with pytest.raises(UserError, match=r"k, c, m1.*it has no stifness"):
        DampedOscillators(privileged=("stifness",))
