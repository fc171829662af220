"""The same model in plain PyTorch and torchdiffeq: what lupi's speed is measured against.

Written here from scratch, the way an ordinary user would write it: eager modules, one system at a
time, only real points (no padding), float32, and `odeint` as it comes (adaptive Dormand-Prince,
rtol 1e-7, atol 1e-9). `copy_parameters` gives it a process's own parameters, and `check_agreement`
makes sure that both compute the same thing before any time is compared.

Give it `torch.set_num_threads(1)`: its arrays are too small for a second thread to help, and where
the other core is busy PyTorch's default is several times slower.

Needs `torch` and `torchdiffeq`, which lupi itself does not.
"""

from collections.abc import Iterable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import torch
from jaxtyping import Array, Float, PRNGKeyArray
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.distributions import Normal, kl_divergence
from torchdiffeq import odeint

from lupi.data import SizeRange, Split, Task, split_randomly
from lupi.models import NeuralODEProcess, Sample
from lupi.objectives import Elbo

CONTEXT_SIZES: SizeRange = (5, 9)
TARGET_SIZES: SizeRange = (15, 50)

INFERRED_TOLERANCE = 1e-5
"""On the mean and scale of z, relative to the largest of them: both are plain float32 networks."""
DECODED_TOLERANCE = 1e-3
"""On decoded means and scales, absolute: what the two solvers may differ by."""
LOSS_TOLERANCE = 1e-3
"""On the loss, for each value of the target: a sum over points and dimensions."""
GRADIENT_TOLERANCE = 5e-2
"""On the gradient of each array of parameters, relative to the norm of that gradient.

The solver's error weighs more on gradients than on states: with lupi's 32 fixed steps up to 2e-2
was seen (Lotka-Volterra, trained), with 512 steps 1e-4.
"""
GRADIENT_FLOOR = 1e-4
"""The share of the whole gradient's norm below which an array's gradient counts as rounding."""


class RivalProcess(nn.Module):
    """The neural ODE process, with privileged parts where `privileged_size` is not 0.

    Linear layers start as PyTorch starts them; `copy_parameters` gives them lupi's values.
    """

    def __init__(
        self,
        observation_size: int,
        privileged_size: int = 0,
        *,
        hidden_size: int = 16,
        representation_size: int = 16,
        global_latent_size: int = 16,
        latent_state_size: int = 16,
        min_latent_scale: float = 0.1,
        min_observation_scale: float = 0.1,
    ):
        super().__init__()
        aggregate_size = 2 * representation_size
        known_size = latent_state_size + global_latent_size
        self.observation_encoder = _mlp(1 + observation_size, hidden_size, representation_size)
        self.latent_shared = nn.Sequential(
            nn.Linear(aggregate_size, hidden_size),
            nn.ReLU(),
            nn.Linear(hidden_size, hidden_size),
            nn.ReLU(),
        )
        self.latent_mean = nn.Linear(hidden_size, global_latent_size)
        self.latent_scale = nn.Linear(hidden_size, global_latent_size)
        self.initial_state = _mlp(global_latent_size, hidden_size, latent_state_size)
        self.latent_ode = _mlp(known_size + 1, hidden_size, latent_state_size, nn.Softplus)
        self.decoder = _mlp(known_size, hidden_size, 2 * observation_size)
        self.privileged_encoder = self.residual_aggregator = None
        if privileged_size:
            self.privileged_encoder = _mlp(privileged_size, hidden_size, representation_size)
            self.residual_aggregator = _mlp(
                aggregate_size + representation_size, hidden_size, aggregate_size
            )
        self.min_latent_scale = min_latent_scale
        self.min_observation_scale = min_observation_scale

    def infer(self, ts: Float[Tensor, " time"], ys: Float[Tensor, "time observation"]) -> Normal:
        """The global latent, from observations alone."""
        return self._global_latent(self._represent(ts, ys))

    def infer_in_training(
        self,
        ts: Float[Tensor, " time"],
        ys: Float[Tensor, "time observation"],
        privileged: Float[Tensor, " privileged"],
    ) -> Normal:
        """The global latent, from all that is known in training."""
        aggregate = self._represent(ts, ys)
        if self.privileged_encoder is not None and self.residual_aggregator is not None:
            both = torch.cat([aggregate, self.privileged_encoder(privileged)])
            aggregate = aggregate + self.residual_aggregator(both)
        return self._global_latent(aggregate)

    def decode(
        self, global_latent: Float[Tensor, " global_latent"], ts: Float[Tensor, " time"]
    ) -> Normal:
        """A Normal of shape (time, observation), at times in any order."""

        def vector_field(t: Tensor, latent_state: Tensor) -> Tensor:
            return self.latent_ode(torch.cat([latent_state, global_latent, t[None]]))

        # odeint starts at its first time and wants the others in strict order; a target may or may
        # not hold time 0. The published code starts at the first target time. It also integrates z
        # along with the latent state, its derivative zero; here the vector field just knows z.
        grid, places = torch.unique(torch.cat([ts.new_zeros(1), ts]), return_inverse=True)
        solved = odeint(vector_field, self.initial_state(global_latent), grid)
        latent_states = solved[places[1:]]
        known = torch.cat([latent_states, global_latent.expand(len(ts), -1)], dim=-1)
        mean, raw_scale = self.decoder(known).chunk(2, dim=-1)
        floor = self.min_observation_scale
        return Normal(mean, floor + (1 - floor) * nn.functional.softplus(raw_scale))

    def loss(
        self,
        context_ts: Float[Tensor, " context"],
        context_ys: Float[Tensor, "context observation"],
        target_ts: Float[Tensor, " target"],
        target_ys: Float[Tensor, "target observation"],
        privileged: Float[Tensor, " privileged"],
        *,
        noise: Float[Tensor, " global_latent"] | None = None,
    ) -> Float[Tensor, ""]:
        """The negative of the paper's bound, with one sample of z: sums, neither term weighted.

        `noise` is what makes that sample out of its mean and scale; without it, it is drawn.
        """
        posterior = self.infer_in_training(target_ts, target_ys, privileged)
        prior = self.infer(context_ts, context_ys)
        global_latent = (
            posterior.rsample() if noise is None else posterior.loc + posterior.scale * noise
        )
        log_likelihood = self.decode(global_latent, target_ts).log_prob(target_ys).sum()
        return kl_divergence(posterior, prior).sum() - log_likelihood

    def _represent(self, ts: Tensor, ys: Tensor) -> Tensor:
        representations = self.observation_encoder(torch.cat([ts[:, None], ys], dim=-1))
        return torch.cat([representations.mean(dim=0), representations.logsumexp(dim=0)])

    def _global_latent(self, aggregate: Tensor) -> Normal:
        hidden = self.latent_shared(aggregate)
        floor = self.min_latent_scale
        scale = floor + (1 - floor) * torch.sigmoid(self.latent_scale(hidden))
        return Normal(self.latent_mean(hidden), scale)


def training_step(
    rival: RivalProcess,
    optimiser: torch.optim.Optimizer,
    ts: Float[Tensor, " time"],
    ys: Float[Tensor, "time observation"],
    privileged: Float[Tensor, " privileged"],
    *,
    rng: np.random.Generator,
) -> float:
    """One step on one system, with a new split into context and target; returns the loss.

    The optimiser to compare with is `torch.optim.Adam(rival.parameters(), lr=1e-3)`.
    """
    num_context = rng.integers(*CONTEXT_SIZES, endpoint=True)
    num_target = rng.integers(*TARGET_SIZES, endpoint=True)
    target = torch.from_numpy(rng.permutation(len(ts))[:num_target])
    context = target[:num_context]
    optimiser.zero_grad()
    loss = rival.loss(ts[context], ys[context], ts[target], ys[target], privileged)
    loss.backward()
    optimiser.step()
    return loss.item()


@torch.no_grad()
def predict(
    rival: RivalProcess,
    context_ts: Float[Tensor, " context"],
    context_ys: Float[Tensor, "context observation"],
    ts: Float[Tensor, " time"],
    num_samples: int = 32,
) -> tuple[
    Float[Tensor, "sample time observation"],
    Float[Tensor, "sample time observation"],
]:
    """Decoded means and scales, for samples of z from a context.

    Each sample has its own solve, as in the published code, which also encodes the context anew
    for each; here that is done once.
    """
    global_latent = rival.infer(context_ts, context_ys)
    decoded = [rival.decode(global_latent.sample(), ts) for _ in range(num_samples)]
    return (
        torch.stack([normal.loc for normal in decoded]),
        torch.stack([normal.scale for normal in decoded]),
    )


def copy_parameters(process: NeuralODEProcess) -> RivalProcess:
    """A rival of the same sizes as a process, with the same parameters."""
    encoder, global_latent = process.observation_encoder, process.global_latent
    rival = RivalProcess(
        encoder.observation_size,
        process.privileged_size,
        hidden_size=encoder.mlp.layers[0].bias.size,
        representation_size=encoder.mlp.layers[-1].bias.size,
        global_latent_size=global_latent.mean.bias.size,
        latent_state_size=process.initial_state.mlp.layers[-1].bias.size,
        min_latent_scale=global_latent.min_scale,
        min_observation_scale=process.decoder.min_scale,
    )
    # Strict: an array too many, too few or of another shape is an error.
    arrays = _arrays_by_name(process)
    rival.load_state_dict({name: _tensor(array) for name, array in arrays.items()})
    return rival


class Agreement(NamedTuple):
    """By how much a rival differs from a process, each in the unit of its tolerance."""

    inferred: float
    decoded: float
    loss: float
    gradient: float


class DisagreementError(AssertionError):
    """A rival and a process do not compute the same thing, so their times mean nothing."""


def check_agreement(
    process: NeuralODEProcess,
    rival: RivalProcess,
    task: Task,
    *,
    test_times: Float[Array, " time"] | None = None,
    key: PRNGKeyArray,
) -> Agreement:
    """Compare the two on one system; an error where they differ by more than the tolerances.

    `key` draws the split and the noise of z, which both get alike. Without `test_times` decoding
    is compared at 100 times from 0 to 1.
    """
    split_key, noise_key = jax.random.split(key)
    split = split_randomly(
        task.observations, context_sizes=CONTEXT_SIZES, target_sizes=TARGET_SIZES, key=split_key
    )
    context, target, privileged = split.context, split.target, task.privileged
    context_ts, context_ys = _tensor(context.ts[context.mask]), _tensor(context.ys[context.mask])
    target_ts, target_ys = _tensor(target.ts[target.mask]), _tensor(target.ys[target.mask])
    known = _tensor(privileged)
    times = jnp.linspace(0.0, 1.0, 100) if test_times is None else test_times

    prior, posterior, global_latent, decoded, loss, gradient = _run_process(
        process, split, privileged, times, noise_key
    )
    # What made that z out of its mean and scale.
    noise = (global_latent - jnp.asarray(posterior.loc)) / jnp.asarray(posterior.scale)

    with torch.no_grad():
        rival_prior = rival.infer(context_ts, context_ys)
        rival_posterior = rival.infer_in_training(target_ts, target_ys, known)
        rival_decoded = rival.decode(_tensor(global_latent), _tensor(times))
    rival_loss = rival.loss(
        context_ts, context_ys, target_ts, target_ys, known, noise=_tensor(noise)
    )
    rival_gradient = dict(
        zip(
            dict(rival.named_parameters()),
            # Unlike backward(), this leaves the gradients that an optimiser may be using alone.
            torch.autograd.grad(rival_loss, list(rival.parameters())),
            strict=True,
        )
    )

    inferred = [
        (prior.loc, rival_prior.loc),
        (prior.scale, rival_prior.scale),
        (posterior.loc, rival_posterior.loc),
        (posterior.scale, rival_posterior.scale),
    ]
    agreement = Agreement(
        inferred=_largest(
            _difference(ours, theirs) / float(np.abs(ours).max()) for ours, theirs in inferred
        ),
        decoded=_largest(
            [
                _difference(decoded.loc, rival_decoded.loc),
                _difference(decoded.scale, rival_decoded.scale),
            ]
        ),
        loss=abs(float(loss) - rival_loss.item()) / target_ys.numel(),
        gradient=_gradient_difference(_arrays_by_name(gradient), rival_gradient),
    )
    tolerances = Agreement(
        INFERRED_TOLERANCE, DECODED_TOLERANCE, LOSS_TOLERANCE, GRADIENT_TOLERANCE
    )
    # Not `>`: that is false for a NaN.
    if not all(found <= allowed for found, allowed in zip(agreement, tolerances, strict=True)):
        figures = ", ".join(
            f"{name} {found:.2g} (allowed {allowed:.2g})"
            for name, found, allowed in zip(Agreement._fields, agreement, tolerances, strict=True)
        )
        raise DisagreementError(f"lupi and the rival disagree: {figures}.")
    return agreement


@eqx.filter_jit
def _run_process(
    process: NeuralODEProcess,
    split: Split,
    privileged: Float[Array, " privileged"],
    times: Float[Array, " time"],
    key: PRNGKeyArray,
):
    """What a process makes of one split, by its public interface, and the z that `Elbo` draws."""

    def process_loss(process: NeuralODEProcess):
        return Elbo()(process, split, privileged, key=key)

    (loss, _), gradient = eqx.filter_value_and_grad(process_loss, has_aux=True)(process)
    prior = process.encode(split.context).latent
    posterior = process.encode(split.target, privileged).latent
    global_latent = posterior.sample(key)
    decoded = process.decode(Sample(global_latent), times)
    return prior, posterior, global_latent, decoded, loss, gradient


def _mlp(
    in_size: int, hidden_size: int, out_size: int, activation: type[nn.Module] = nn.ReLU
) -> nn.Sequential:
    """The paper's three-layer network."""
    return nn.Sequential(
        nn.Linear(in_size, hidden_size),
        activation(),
        nn.Linear(hidden_size, hidden_size),
        activation(),
        nn.Linear(hidden_size, out_size),
    )


def _arrays_by_name(process: NeuralODEProcess) -> dict[str, Array]:
    """The arrays of a process, or of its gradient, by the name of the rival's parameter."""
    networks = {
        "observation_encoder": process.observation_encoder.mlp,
        "latent_shared": process.global_latent.shared,
        "initial_state": process.initial_state.mlp,
        "latent_ode": process.latent_ode.mlp,
        "decoder": process.decoder.mlp,
    }
    if process.privileged is not None:
        networks["privileged_encoder"] = process.privileged.encoder.mlp
        networks["residual_aggregator"] = process.privileged.mlp
    layers = {
        # In a Sequential an activation stands between one layer and the next.
        f"{name}.{2 * i}": layer
        for name, network in networks.items()
        for i, layer in enumerate(network.layers)
    }
    layers["latent_mean"] = process.global_latent.mean
    layers["latent_scale"] = process.global_latent.scale
    weights = {f"{name}.weight": layer.weight for name, layer in layers.items()}
    biases = {f"{name}.bias": layer.bias for name, layer in layers.items()}
    return {name: array for name, array in (weights | biases).items() if array is not None}


def _tensor(array: Array) -> Tensor:
    return torch.tensor(np.asarray(array))


def _difference(ours: ArrayLike, theirs: Tensor) -> float:
    return float(np.abs(np.asarray(ours) - theirs.numpy()).max())


def _gradient_difference(ours: dict[str, Array], theirs: dict[str, Tensor]) -> float:
    """The largest relative difference over the arrays of parameters."""
    whole = np.linalg.norm([np.linalg.norm(gradient) for gradient in ours.values()])
    return _largest(
        float(
            np.linalg.norm(np.asarray(gradient) - theirs[name].numpy())
            / np.maximum(np.linalg.norm(gradient), GRADIENT_FLOOR * whole)
        )
        for name, gradient in ours.items()
    )


def _largest(differences: Iterable[float]) -> float:
    """NaN if any of them is, unlike `max`."""
    return float(np.max(list(differences)))
