"""How, at prediction time, samples of z are found from a context."""

from lupi.inference.amortised import Amortised
from lupi.inference.family import Family, learn_family
from lupi.inference.inference import AbstractInference, Inferred, InferringPredictor
from lupi.inference.refined import Refined
from lupi.inference.trust import Trust

__all__ = [
    "AbstractInference",
    "Amortised",
    "Family",
    "Inferred",
    "InferringPredictor",
    "Refined",
    "Trust",
    "learn_family",
]
