"""Whatever predicts."""

import abc

import equinox as eqx
from jaxtyping import Float, PRNGKeyArray

from lupi.data.observations import Observations
from lupi.distributions import AnyArray
from lupi.models.prediction import Prediction


class AbstractPredictor(eqx.Module):
    """From a few observations of a system to a distribution over the rest.

    Written for one system, to be compiled and mapped by who calls it: `lupi.predict` does. Nothing
    but observations goes in: privileged information has no way here.
    """

    observation_size: eqx.AbstractVar[int]
    """How many quantities are observed."""

    @property
    def takes_as_long_for_all(self) -> bool:
        """Whether one context takes as long as another: then several are sooner done side by side,
        and else one after the other."""
        return True

    @abc.abstractmethod
    def predict(
        self,
        context: Observations,
        times: Float[AnyArray, " time"],
        *,
        num_samples: int,
        horizon: int,
        key: PRNGKeyArray,
    ) -> Prediction:
        """Predict the system behind `context` at `times`, in any order, from 0 to the `horizon`.

        The context may be empty. `num_samples` is how many Normals the prediction is made of, at
        most: a predictor that needs fewer gives fewer.
        """
