"""What training makes small."""

from lupi.objectives.elbo import Elbo
from lupi.objectives.importance import ImportanceWeighted, Renyi
from lupi.objectives.maximum_likelihood import MaximumLikelihood
from lupi.objectives.objective import AbstractObjective, Terms
from lupi.objectives.predictive import Predictive

__all__ = [
    "AbstractObjective",
    "Elbo",
    "ImportanceWeighted",
    "MaximumLikelihood",
    "Predictive",
    "Renyi",
    "Terms",
]
