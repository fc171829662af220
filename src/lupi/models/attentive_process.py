"""An attentive neural process: a latent, and a decoder that looks at the context."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from lupi.data.observations import Observations
from lupi.distributions import AnyArray, Normal
from lupi.models.latent_process import AbstractLatentProcess, GlobalLatentSettings
from lupi.models.parts.attention import CrossAttention
from lupi.models.parts.decoder import Decoder
from lupi.models.parts.observation_encoder import ObservationEncoder, Points
from lupi.models.process import Code, Sample
from lupi.models.settings import Size


class _Represented(NamedTuple):
    """What is known of points: for z, and for the decoder."""

    points: Points
    values: Float[Array, "time representation"]


class AttentiveProcess(AbstractLatentProcess):
    """$p(y | t, z, r(t))$, where r(t) is what is seen of the context from t (Kim et al., 2019)."""

    values: Callable[[Observations], Float[Array, "time representation"]]
    """What there is to see of each observation, beside what it tells of z."""
    attention: CrossAttention
    decoder: Callable[..., Normal]
    """Of times, z, what is seen, and inputs, where there are any."""

    def represent(self, observations: Observations, *, key: PRNGKeyArray | None) -> Any:
        """Each observation on its own, for both paths."""
        points = super().represent(observations, key=key)
        return _Represented(points, self.values(observations))

    def summarise(
        self,
        points: Any,
        mask: Bool[AnyArray, " time"],
        privileged: Float[AnyArray, " privileged"],
        *,
        key: PRNGKeyArray | None,
    ) -> Code:
        """The distribution of z, and all real points, to be looked up at each time."""
        code = super().summarise(points.points, mask, privileged, key=key)
        seen = (jnp.asarray(points.points.ts), points.values, jnp.asarray(mask))
        return Code(code.latent, (seen, code.deterministic))

    def decode(
        self,
        sample: Sample,
        ts: Float[AnyArray, " time"],
        *,
        horizon: int = 1,
        key: PRNGKeyArray | None = None,
    ) -> Normal:
        """Each time decoded beside z and what is seen from there."""
        seen, path = sample.deterministic
        inputs = (path.at(ts),) if self.input_size else ()
        found = self.attention(ts, *seen)
        return self.decoder(jnp.asarray(ts)[:, None], sample.latent, found, *inputs)


class AttentiveProcessSettings(GlobalLatentSettings):
    """An attentive neural process: a latent without dynamics, and attention to the context."""

    kind: Literal["attentive-process"] = "attentive-process"
    heads: Size = 4
    """Ways to look at the context at once."""

    def build(
        self, observation_size: int, privileged_size: int, input_size: int = 0
    ) -> AttentiveProcess:
        """The process for data of these sizes."""
        z_size, seen_size = self.global_latent_size, self.heads * self.representation_size
        return AttentiveProcess(  # pyright: ignore[reportCallIssue]
            **self.encoding_parts(z_size, observation_size, privileged_size, input_size),
            values=ObservationEncoder(
                observation_size,
                hidden_size=self.hidden_size,
                representation_size=self.representation_size,
                marks_gaps=self.marks_gaps,
                input_size=input_size,
            ),
            attention=CrossAttention(self.heads, hidden_size=self.hidden_size),
            decoder=Decoder(
                1 + z_size + seen_size + input_size,
                observation_size,
                hidden_size=self.hidden_size,
                min_scale=self.min_observation_scale,
            ),
        )
