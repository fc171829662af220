"""Physical systems, and the one place that simulates them."""

from lupi.systems.epidemic import Epidemic
from lupi.systems.line_and_sine import LineAndSine
from lupi.systems.lotka_volterra import LotkaVolterra
from lupi.systems.oscillators import DampedOscillators
from lupi.systems.pendulum import Pendulum
from lupi.systems.simulation import Trajectories, simulate
from lupi.systems.system import Parameter, System
from lupi.systems.two_compartments import TwoCompartments

__all__ = [
    "DampedOscillators",
    "Epidemic",
    "LineAndSine",
    "LotkaVolterra",
    "Parameter",
    "Pendulum",
    "System",
    "Trajectories",
    "TwoCompartments",
    "simulate",
]
