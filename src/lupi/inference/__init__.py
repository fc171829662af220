"""How, at prediction time, samples of z are found from a context."""

from lupi.inference.amortised import Amortised
from lupi.inference.inference import AbstractInference, InferringPredictor

__all__ = ["AbstractInference", "Amortised", "InferringPredictor"]
