"""What training makes small."""

from lupi.objectives.elbo import Elbo
from lupi.objectives.objective import AbstractObjective, Terms

__all__ = ["AbstractObjective", "Elbo", "Terms"]
