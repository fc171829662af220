"""An epidemic (Kermack and McKendrick's SIR)."""

import jax.numpy as jnp

from lupi.systems.system import Parameter, System


class Epidemic(System):
    r"""Shares of a population that are susceptible, infected and recovered; the last two are seen.

    $$\dot S = -\beta S I, \quad \dot I = \beta S I - \gamma I, \quad \dot R = \gamma I$$

    `contact_rate` is $\beta$, `recovery_rate` is $\gamma$; `initially_infected` are infected at
    time 0, all others susceptible.
    """

    observed = ("infected", "recovered")
    contact_rate: Parameter = 0.6
    recovery_rate: Parameter = 0.2
    initially_infected: Parameter = 0.01

    @property
    def reproduction_number(self):
        """How many one infects where all are susceptible."""
        return self.contact_rate / self.recovery_rate

    def initial_state(self):
        """Susceptible, infected, recovered."""
        infected = self.initially_infected
        return jnp.array([1 - infected, infected, jnp.zeros_like(infected)])

    def vector_field(self, time, state):
        """How fast each share grows."""
        susceptible, infected, _ = state
        new, healed = self.contact_rate * susceptible * infected, self.recovery_rate * infected
        return jnp.array([-new, new - healed, healed])

    def observe(self, state):
        """Infected and recovered."""
        return state[1:]
