"""How good predictions are: the same for a paper's experiment and for a user's table."""

from lupi.evaluation.comparison import Regret, regret
from lupi.evaluation.pointwise import average, score_points
from lupi.evaluation.recovered import judge_recovered, judge_values
from lupi.evaluation.scoring import LEVELS, Scores, score
from lupi.evaluation.tasks import MODES, Evaluation, draw_contexts, evaluate_tasks

__all__ = [
    "LEVELS",
    "MODES",
    "Evaluation",
    "Regret",
    "Scores",
    "average",
    "draw_contexts",
    "evaluate_tasks",
    "judge_recovered",
    "judge_values",
    "regret",
    "score",
    "score_points",
]
