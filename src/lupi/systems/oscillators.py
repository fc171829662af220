"""Damped coupled oscillators (the paper's eq. 2)."""

import jax.numpy as jnp

from lupi.systems.system import Parameter, System


class DampedOscillators(System):
    r"""Two masses in a row, joined to each other and to two walls by three equal springs.

    $$m_1 \ddot x_1 = (x_2 - 2 x_1) k - c \dot x_1, \quad
      m_2 \ddot x_2 = (x_1 - 2 x_2) k - c \dot x_2$$

    `k` is the stiffness, `c` the damping, `m1` and `m2` the masses, `x1`, `x2`, `v1`, `v2` the
    initial positions and velocities. The positions are observed.
    """

    observed = ("x1", "x2")
    k: Parameter = 0.5
    c: Parameter = 1.0
    m1: Parameter = 1.0
    m2: Parameter = 1.0
    x1: Parameter = 1.0
    x2: Parameter = -1.0
    v1: Parameter = 0.0
    v2: Parameter = 0.0

    def initial_state(self):
        """Positions, then velocities."""
        return jnp.array([self.x1, self.x2, self.v1, self.v2])

    def vector_field(self, time, state):
        """Velocities, then accelerations."""
        x1, x2, v1, v2 = state
        a1 = ((x2 - 2 * x1) * self.k - self.c * v1) / self.m1
        a2 = ((x1 - 2 * x2) * self.k - self.c * v2) / self.m2
        return jnp.array([v1, v2, a1, a2])

    def observe(self, state):
        """The two positions."""
        return state[:2]
