"""What training makes small."""

from lupi.objectives.elbo import Elbo

__all__ = ["Elbo"]
