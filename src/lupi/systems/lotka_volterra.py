"""Predator and prey (the paper's eq. 3)."""

import jax.numpy as jnp

from lupi.systems.system import Parameter, System


class LotkaVolterra(System):
    r"""Prey `u` and predators `v`, both observed.

    $$\dot u = \alpha u - \beta u v, \quad \dot v = \delta u v - \gamma v$$

    `u0` and `v0` are the initial populations. The quantity `V` is conserved.
    """

    observed = ("u", "v")
    u0: Parameter = 0.6
    v0: Parameter = 0.3
    alpha: Parameter = 2 / 3
    beta: Parameter = 4 / 3
    gamma: Parameter = 1.0
    delta: Parameter = 1.0

    @property
    def V(self):  # noqa: N802 (the paper's letter)
        """The conserved quantity, from the initial populations."""
        return self.conserved(self.initial_state())

    def conserved(self, state):
        r"""$V = \delta u - \gamma \ln u + \beta v - \alpha \ln v$ of a state."""
        u, v = state
        return self.delta * u - self.gamma * jnp.log(u) + self.beta * v - self.alpha * jnp.log(v)

    def initial_state(self):
        """The initial populations."""
        return jnp.array([self.u0, self.v0])

    def vector_field(self, time, state):
        """Growth rates of prey and predators."""
        u, v = state
        return jnp.array([self.alpha * u - self.beta * u * v, self.delta * u * v - self.gamma * v])
