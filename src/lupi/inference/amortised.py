"""The paper's inference: one pass of the encoder."""

from typing import ClassVar

from jaxtyping import Float, PRNGKeyArray

from lupi.data.observations import Observations
from lupi.distributions import AnyArray
from lupi.inference.family import Family
from lupi.inference.inference import (
    AbstractInference,
    Inferred,
    decode_samples,
    decode_with_grid,
)
from lupi.models import AbstractProcess


class Amortised(AbstractInference):
    """$z \\sim q'(z | C)$: the encoder alone, trained to guess well on average."""

    needs_family: ClassVar[bool] = False

    def infer(
        self,
        process: AbstractProcess,
        family: Family | None,
        context: Observations,
        times: Float[AnyArray, " time"],
        *,
        privileged: Float[AnyArray, " privileged"] | None = None,
        num_samples: int,
        horizon: int,
        key: PRNGKeyArray,
    ) -> Inferred:
        """Samples from the code's own distribution."""
        code = process.encode(context, privileged)
        latents = code.latent.sample(key, (num_samples,))
        how = (latents, code.deterministic, [times])
        if family is None:
            (decoded,) = decode_samples(process, *how, horizon=horizon)
            return Inferred(latents, decoded)
        decoded, on_grid = decode_with_grid(process, family, context, *how, horizon=horizon)
        return Inferred(latents, decoded, on_grid.loc)
