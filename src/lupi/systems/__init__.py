"""Physical systems, and the one place that simulates them."""

from lupi.systems.lotka_volterra import LotkaVolterra
from lupi.systems.oscillators import DampedOscillators
from lupi.systems.simulation import Trajectories, simulate
from lupi.systems.system import Parameter, System

__all__ = ["DampedOscillators", "LotkaVolterra", "Parameter", "System", "Trajectories", "simulate"]
