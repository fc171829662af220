"""The paper's inference: one pass of the encoder."""

from jaxtyping import Array, Float, PRNGKeyArray

from lupi.data.observations import Observations
from lupi.inference.inference import AbstractInference
from lupi.models import AbstractProcess, Code


class Amortised(AbstractInference):
    """$z \\sim q'(z | C)$: the encoder alone, trained to guess well on average."""

    def samples(
        self,
        process: AbstractProcess,
        context: Observations,
        code: Code,
        *,
        num_samples: int,
        key: PRNGKeyArray,
    ) -> Float[Array, "sample latent"]:
        """Samples from the code's own distribution."""
        return code.latent.sample(key, (num_samples,))
