"""A damped pendulum."""

import jax.numpy as jnp

from lupi.systems.system import Parameter, System


class Pendulum(System):
    r"""A mass on a rod, let go at an angle that need not be small; the angle is observed.

    $$\ddot\theta = -\frac{g}{l} \sin\theta - d \dot\theta$$

    `length` is $l$, `drag` is $d$, `angle` and `speed` are how it starts.
    """

    observed = ("angle",)
    length: Parameter = 1.0
    angle: Parameter = 0.5
    speed: Parameter = 0.0
    drag: Parameter = 0.2
    gravity: Parameter = 9.81

    def initial_state(self):
        """Angle and angular speed."""
        return jnp.array([self.angle, self.speed])

    def vector_field(self, time, state):
        """Angular speed and acceleration."""
        angle, speed = state
        pull = -self.gravity / self.length * jnp.sin(angle)
        return jnp.array([speed, pull - self.drag * speed])

    def observe(self, state):
        """The angle alone."""
        return state[:1]
