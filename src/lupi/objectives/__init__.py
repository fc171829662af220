"""What training makes small."""

from lupi.objectives.elbo import Elbo
from lupi.objectives.objective import AbstractObjective, Terms
from lupi.objectives.predictive import Predictive

__all__ = ["AbstractObjective", "Elbo", "Predictive", "Terms"]
