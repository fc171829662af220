"""The eight parts, assembled."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from lupi.data.observations import Observations
from lupi.data.split import Split
from lupi.distributions import Normal
from lupi.errors import UserError
from lupi.models.aggregator import MeanLogSumExp
from lupi.models.decoder import Decoder
from lupi.models.global_latent import GlobalLatent
from lupi.models.initial_state import InitialState
from lupi.models.latent_ode import LatentODE
from lupi.models.layers import scale_weights, split_key
from lupi.models.observation_encoder import ObservationEncoder
from lupi.models.privileged_encoder import PrivilegedEncoder
from lupi.models.residual_aggregator import ResidualAggregator
from lupi.models.settings import ProcessSettings


class NeuralODEProcess(eqx.Module):
    """A distribution over trajectories, conditioned on a few observations.

    With the two privileged parts it is the paper's LUPI model in training; without them it is
    NoPI, and LUPI at test time. Any part may be replaced by another of the same call.
    """

    observation_encoder: ObservationEncoder
    aggregator: MeanLogSumExp
    global_latent: GlobalLatent
    initial_state: InitialState
    latent_ode: LatentODE
    decoder: Decoder
    privileged_encoder: PrivilegedEncoder | None = None
    residual_aggregator: ResidualAggregator | None = None

    def __check_init__(self):
        if (self.privileged_encoder is None) != (self.residual_aggregator is None):
            raise UserError(
                "privileged_encoder and residual_aggregator come together: give both, or neither."
            )

    @property
    def uses_privileged(self) -> bool:
        """Whether training can make use of privileged information."""
        return self.privileged_encoder is not None

    def represent(self, observations: Observations) -> Float[Array, " aggregate"]:
        """$r_X$: one representation of all real observations."""
        return self.aggregator(self._encode(observations), observations.mask)

    def infer(self, observations: Observations) -> Normal:
        r"""$q'(z | X) = q(z | X, \pi \leftarrow null)$: the global latent, from observations."""
        return self.global_latent(self.represent(observations))

    def infer_in_training(
        self, observations: Observations, privileged: Float[Array, " privileged"]
    ) -> Normal:
        r"""$q(z | X, \pi)$: the global latent, from all that is known in training.

        For a process without privileged parts, and where no privileged value is known (all are
        NaN), this is `infer`.
        """
        return self.global_latent(self._correct(self.represent(observations), privileged))

    def infer_split(
        self, split: Split, privileged: Float[Array, " privileged"]
    ) -> tuple[Normal, Normal]:
        r"""$q(z | T, \pi)$ and $q'(z | C)$ of a target and the context inside it.

        As `infer_in_training` and `infer` give them, but each point is encoded once for both.
        """
        masks = jnp.stack([split.target.mask, split.context.mask])
        target, context = self.aggregator(self._encode(split.target), masks)
        both = self.global_latent(jnp.stack([self._correct(target, privileged), context]))
        return Normal(both.loc[0], both.scale[0]), Normal(both.loc[1], both.scale[1])

    def _encode(self, observations: Observations) -> Float[Array, "time representation"]:
        return self.observation_encoder(observations.ts, observations.ys, observations.gaps)

    def _correct(
        self, aggregate: Float[Array, " aggregate"], privileged: Float[Array, " privileged"]
    ) -> Float[Array, " aggregate"]:
        """A representation, corrected by privileged information where there is any."""
        if self.privileged_encoder is None or self.residual_aggregator is None:
            return aggregate
        corrected = self.residual_aggregator(aggregate, self.privileged_encoder(privileged))
        return jnp.where(jnp.isnan(privileged).all(), aggregate, corrected)

    def decode(
        self,
        global_latent: Float[Array, " global_latent"],
        ts: Float[Array, " time"],
        *,
        horizon: int = 1,
    ) -> Normal:
        """$p(y | z, t)$ at each of the times: a Normal of shape (time, observation).

        Times beyond 1, the end of what a process is trained on, want a `horizon` (a whole number)
        not below the last of them.
        """
        latent_states = self.latent_ode(
            self.initial_state(global_latent), global_latent, ts, horizon=horizon
        )
        return self.decoder(latent_states, global_latent)

    def with_solver_steps(self, steps: int) -> "NeuralODEProcess":
        """The same process, its latent ODE solved in this many steps for each unit of time."""
        return eqx.tree_at(lambda p: p.latent_ode, self, self.latent_ode.with_steps(steps))

    def without_privileged(self) -> "NeuralODEProcess":
        """The process at test time: the privileged parts taken off."""
        return NeuralODEProcess(
            observation_encoder=self.observation_encoder,
            aggregator=self.aggregator,
            global_latent=self.global_latent,
            initial_state=self.initial_state,
            latent_ode=self.latent_ode,
            decoder=self.decoder,
        )


def build_process(settings: ProcessSettings, *, key: PRNGKeyArray) -> NeuralODEProcess:
    """A process with fresh weights.

    The weights of a part depend on `key` and that part's sizes alone, so processes with and
    without privileged information start from the same weights in all they share.
    """
    keys = iter(split_key(key, 7))
    hidden = {"hidden_size": settings.hidden_size}
    represented = hidden | {"representation_size": settings.representation_size}
    aggregate_size = MeanLogSumExp.size(settings.representation_size)
    z_size, state_size = settings.global_latent_size, settings.latent_state_size
    observation_encoder = ObservationEncoder(
        settings.observation_size,
        **represented,
        marks_gaps=settings.marks_gaps,
        key=next(keys),
    )
    global_latent = GlobalLatent(
        aggregate_size,
        **hidden,
        global_latent_size=z_size,
        min_scale=settings.min_latent_scale,
        key=next(keys),
    )
    initial_state = InitialState(z_size, **hidden, latent_state_size=state_size, key=next(keys))
    latent_ode = LatentODE(
        state_size,
        global_latent_size=z_size,
        **hidden,
        steps_per_unit=settings.solver_steps,
        key=next(keys),
    )
    decoder = Decoder(
        state_size,
        global_latent_size=z_size,
        observation_size=settings.observation_size,
        **hidden,
        min_scale=settings.min_observation_scale,
        key=next(keys),
    )
    privileged_encoder = residual_aggregator = None
    if settings.privileged_size:
        privileged_encoder = PrivilegedEncoder(
            settings.privileged_size,
            **represented,
            marks_gaps=settings.marks_gaps,
            key=next(keys),
        )
        residual_aggregator = ResidualAggregator(aggregate_size, **represented, key=next(keys))
    process = NeuralODEProcess(
        observation_encoder=observation_encoder,
        aggregator=MeanLogSumExp(),
        global_latent=global_latent,
        initial_state=initial_state,
        latent_ode=latent_ode,
        decoder=decoder,
        privileged_encoder=privileged_encoder,
        residual_aggregator=residual_aggregator,
    )
    return scale_weights(process, settings.initial_gain)


def num_parameters(process: eqx.Module) -> int:
    """How many numbers training adjusts."""
    return sum(jnp.size(leaf) for leaf in jax.tree.leaves(eqx.filter(process, eqx.is_array)))
