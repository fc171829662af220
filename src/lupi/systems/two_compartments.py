"""A drug in the body."""

import jax.numpy as jnp

from lupi.systems.system import Parameter, System


class TwoCompartments(System):
    r"""A dose given into the blood, from where it goes into the tissue, back, and out of the body.

    $$\dot A_1 = -\frac{CL + Q}{V_1} A_1 + \frac{Q}{V_2} A_2, \quad
      \dot A_2 = \frac{Q}{V_1} A_1 - \frac{Q}{V_2} A_2$$

    `clearance` is $CL$, `exchange` is $Q$ (litres an hour), `volume` is $V_1$, `tissue_volume` is
    $V_2$ (litres), `dose` is $A_1$ at time 0 (milligrams). The concentration $A_1 / V_1$ in the
    blood is observed.
    """

    observed = ("concentration",)
    clearance: Parameter = 1.0
    volume: Parameter = 7.0
    exchange: Parameter = 2.0
    tissue_volume: Parameter = 10.0
    dose: Parameter = 10.0

    def initial_state(self):
        """Concentrations in the blood and in the tissue."""
        return jnp.array([self.dose / self.volume, jnp.zeros_like(self.dose)])

    def vector_field(self, time, state):
        """How fast both concentrations grow."""
        blood, tissue = state
        flow = self.exchange * (blood - tissue)
        return jnp.array(
            [-(self.clearance * blood + flow) / self.volume, flow / self.tissue_volume]
        )

    def observe(self, state):
        """The concentration in the blood."""
        return state[:1]
