"""What an inference is."""

import abc

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.data.observations import Observations
from lupi.distributions import AnyArray
from lupi.models import AbstractPredictor, AbstractProcess, Code, Prediction


class AbstractInference(eqx.Module):
    """How samples of z are found from a context, for any process. Its fields are its settings."""

    @abc.abstractmethod
    def samples(
        self,
        process: AbstractProcess,
        context: Observations,
        code: Code,
        *,
        num_samples: int,
        key: PRNGKeyArray,
    ) -> Float[Array, "sample latent"]:
        """Samples of z, given the context and what the process's encoder makes of it."""


class InferringPredictor(AbstractPredictor):
    """A process, and the way its z is found."""

    process: AbstractProcess
    inference: AbstractInference

    @property
    def observation_size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How many quantities are observed."""
        return self.process.observation_size

    def predict(
        self,
        context: Observations,
        times: Float[AnyArray, " time"],
        *,
        num_samples: int,
        horizon: int,
        key: PRNGKeyArray,
    ) -> Prediction:
        """Predict from the samples of z that the inference finds."""
        latent_key, noise_key = jax.random.split(key)
        code = self.process.encode(context)
        latents = self.inference.samples(
            self.process, context, code, num_samples=num_samples, key=latent_key
        )
        return self.process.predict_from_latents(
            latents, code.deterministic, times, horizon=horizon, key=noise_key
        )
