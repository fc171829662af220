"""A family of functions that is no dynamics."""

import jax.numpy as jnp

from lupi.systems.system import Parameter, System


class LineAndSine(System):
    r"""The functions $y = a x + \sin(b x) + c$, from $x$ = `first` on; what is called time is $x$
    - `first`.

    Each is the solution of $dy/dx = a + b \cos(b x)$, on which $y$ has no influence: there is
    nothing that a model of dynamics could know better.
    """

    observed = ("y",)
    a: Parameter = 0.5
    b: Parameter = 3.0
    c: Parameter = 0.0
    first: Parameter = -2.0

    def initial_state(self):
        """The function at its first place."""
        return jnp.array([self.a * self.first + jnp.sin(self.b * self.first) + self.c])

    def vector_field(self, time, state):
        """Its slope."""
        return jnp.array([self.a + self.b * jnp.cos(self.b * (self.first + time))])
