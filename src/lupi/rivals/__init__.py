"""What a user would pick instead of a neural process, each a predictor with a name."""

from lupi.rivals.table import RIVALS, Rival

__all__ = ["RIVALS", "Rival"]
