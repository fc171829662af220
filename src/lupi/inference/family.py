"""What a trained process knows of the family of systems it was trained on."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lupi._machinery.compilation import compiled
from lupi.data import Observations, RaggedTasks, Task
from lupi.data.inputs import Inputs
from lupi.distributions import AnyArray, Normal
from lupi.inference.mixture import GaussianMixture, fit_mixture
from lupi.inference.reader import Reader, fit_reader, of_one_size
from lupi.inference.surprise import Surprise
from lupi.inference.trust import Trust
from lupi.inference.whole_series import explaining_latent
from lupi.models import AbstractProcess, Sample

MOST_SYSTEMS, MOST_POINTS = 512, 256
"""Of the training data that are looked at; of more, a random choice."""

MEMBERS = 128
"""Kept as places to start from."""

GRID = 48
"""Times at which trajectories of members are compared."""

RIDGE = 0.02
"""Of the response to inputs: how much is asked of each system before it is believed."""

WORTH_OPTIMISING = 300
"""Systems, of all processes, from which on looking at them is compiled to run fast."""

LEAST_INFORMATION = 0.1
"""What all observations of a trajectory together tell of a direction of z, for it to count."""


class Response(eqx.Module):
    """How the z of systems follows their inputs, so that it can be told apart from the rest.

    Trajectories are compared, by the reader too, as if all systems had the reference inputs.
    """

    reference: Inputs
    """Those of one system: of one knot."""
    shift: Float[AnyArray, "active input"]
    """By how much the active coordinates of systems grow with their average inputs."""

    def __call__(self, inputs: Inputs) -> Float[Array, " active"]:
        """How far from where it would be with the reference inputs."""
        return self.shift @ (inputs.average() - self.reference.values[0])


class Family(eqx.Module):
    """Where the z of the training systems lie, and what their trajectories look like.

    z is described by two sets of coordinates of unit scale: *active* ones, which change what is
    decoded, and the rest. They follow the mixture `prior`, and a standard Gaussian.
    """

    centre: Float[AnyArray, " latent"]
    active_axes: Float[AnyArray, "latent active"]
    other_axes: Float[AnyArray, "latent other"]
    to_active: Float[AnyArray, "active latent"]
    prior: GaussianMixture
    """Of the active coordinates."""
    members: Float[AnyArray, "member active"]
    """Some of the training systems."""
    grid: Float[AnyArray, " grid"]
    means: Float[AnyArray, "member grid observation"]
    scales: Float[AnyArray, "member grid observation"]
    """What is decoded of them."""
    spacing: Float[AnyArray, " observation"]
    """How far the trajectory of a system is from that of the member most like it."""
    reader: Reader | None
    """Of privileged values; none where there were none in training."""
    trust: Trust
    """How far scales that the decoder and the reader give are to be trusted."""
    surprise: Surprise | None = None
    """How hard held-out systems are to explain."""
    response: Response | None = None
    """Of a process with inputs; the centre and the members are as with the reference inputs."""

    def given(self, inputs: Inputs | None) -> "Family":
        """The family as it is with some inputs."""
        if self.response is None or inputs is None:
            return self
        centre = self.centre + self.active_axes @ self.response(inputs)
        return eqx.tree_at(lambda family: family.centre, self, centre)

    def active(self, latent: Float[AnyArray, " latent"]) -> Float[Array, " active"]:
        """The active coordinates of a z."""
        return self.to_active @ (latent - self.centre)

    def latent(
        self, active: Float[AnyArray, " active"], other: Float[AnyArray, " other"] | None = None
    ) -> Float[Array, " latent"]:
        """The z of active coordinates, and of others where they are given."""
        z = self.centre + self.active_axes @ active
        return z if other is None else z + self.other_axes @ other

    def read(self, trajectory: Float[AnyArray, "grid observation"]) -> Normal:
        """The privileged values of a system with this trajectory, where there is a reader."""
        assert self.reader is not None
        value = self.reader(trajectory)
        return Normal(value.loc, self.trust.value * value.scale)


def learn_family(
    process: AbstractProcess, tasks: Task | RaggedTasks, *, seed: int = 0
) -> Family | None:
    """Learn it from the systems that the process was trained on.

    A process without a latent knows of none.
    """
    families = learn_families([process], [tasks], seed=seed)
    return None if families is None else families[0]


def learn_families(
    processes: Sequence[AbstractProcess],
    tasks: Sequence[Task | RaggedTasks],
    *,
    seed: int = 0,
) -> list[Family] | None:
    """Those of several processes of one kind, all with arrays of the same sizes."""
    if latent_size(processes[0]) == 0:
        return None
    seen = [some_tasks(some, MOST_SYSTEMS, seed) for some in tasks]
    brief = sum(map(len, seen)) < WORTH_OPTIMISING
    looks = [_look_at(process, some, brief) for process, some in zip(processes, seen, strict=True)]
    number = max(max(1, int((look.information > LEAST_INFORMATION).sum())) for look in looks)
    # An even number: families of few sizes, of which few are compiled.
    number = min(number + number % 2, len(looks[0].centre))
    values = [some.privileged for some in seen]
    readable = all(value.shape[1] and not np.isnan(value).all(0).any() for value in values)
    families = [
        _family(process, some, look, value if readable else None, number, seed=seed)
        for process, some, look, value in zip(processes, seen, looks, values, strict=True)
    ]
    readers = [family.reader for family in families if family.reader is not None]
    if not readers:
        return families
    return [
        eqx.tree_at(lambda one: one.reader, family, reader)
        for family, reader in zip(families, of_one_size(readers), strict=True)
    ]


def latent_size(process: AbstractProcess) -> int:
    """How many numbers a z of the process has."""
    zero, size = np.zeros(1, np.float32), process.input_size
    inputs = Inputs(zero, np.zeros((1, size), np.float32)) if size else None
    values = np.zeros((1, process.observation_size), np.float32)
    one = Observations(zero, values, np.ones(1, bool), inputs=inputs)
    return eqx.filter_eval_shape(process.encode, one).latent.loc.size


class _Look(NamedTuple):
    """What a process makes of systems."""

    centre: Float[np.ndarray, " latent"]
    centred: Float[np.ndarray, "system latent"]
    within: Float[np.ndarray, "latent latent"]
    """The mean covariance of a single z."""
    information: Float[np.ndarray, " direction"]
    """Of each direction, in decreasing order: how much of it is seen in trajectories."""
    axes: Float[np.ndarray, "latent direction"]
    means: Float[np.ndarray, "system grid observation"]
    scales: Float[np.ndarray, "system grid observation"]


def _grid() -> Float[np.ndarray, " grid"]:
    return np.linspace(0.0, 1.0, GRID, dtype=np.float32)


def _look_at(process: AbstractProcess, seen: Task, brief: bool) -> _Look:
    found = compiled(_look, brief=brief)(process, seen, _grid())
    locs, scales, means, decoded_scales, jacobians = jax.tree.map(
        lambda leaf: np.asarray(leaf), found
    )
    locs, scales = locs.astype(float), scales.astype(float)
    centre = locs.mean(axis=0)
    centred = locs - centre
    within = np.diag((scales**2).mean(axis=0))
    covariance = centred.T @ centred / len(locs) + within + 1e-9 * np.eye(len(centre))
    factor = np.linalg.cholesky(covariance)
    rows = jacobians.reshape(-1, len(centre)).astype(float) @ factor
    information, axes = np.linalg.eigh(rows.T @ rows / len(jacobians))
    order = np.argsort(-information)
    return _Look(
        centre,
        centred,
        within,
        information[order],
        factor @ axes[:, order],
        means,
        decoded_scales,
    )


def _family(
    process: AbstractProcess,
    seen: Task,
    look: _Look,
    privileged: np.ndarray | None,
    number: int,
    *,
    seed: int,
) -> Family:
    inverse = np.linalg.inv(look.axes)[:number]
    points = look.centred @ inverse.T
    response = None
    if seen.observations.inputs is not None:
        response, shifts = _respond(seen.observations.inputs, points)
        points = points - shifts
        latents = look.centre + look.centred - shifts @ look.axes[:, :number].T
        at_reference = compiled(_at_reference, brief=False)
        found = at_reference(process, seen, latents.astype(np.float32), _grid(), response.reference)
        means, scales = (np.asarray(part) for part in found)
        look = look._replace(means=means, scales=scales)
    chosen = np.random.default_rng(seed).permutation(len(points))[:MEMBERS]
    as_float = partial(np.asarray, dtype=np.float32)
    return Family(
        centre=as_float(look.centre),
        active_axes=as_float(look.axes[:, :number]),
        other_axes=as_float(look.axes[:, number:]),
        to_active=as_float(inverse),
        prior=fit_mixture(points, inverse @ look.within @ inverse.T, seed=seed),
        members=as_float(points[chosen]),
        grid=_grid(),
        means=look.means[chosen],
        scales=look.scales[chosen],
        spacing=as_float(_spacing(look.means[chosen])),
        reader=None if privileged is None else fit_reader(look.means, privileged.astype(float)),
        trust=Trust.full(),
        response=response,
    )


def _spacing(means: Float[np.ndarray, "member grid observation"]) -> np.ndarray:
    """The root mean square, over members, of the distance to the nearest other one."""
    flat = means.reshape(len(means), -1)
    squares = (flat**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * flat @ flat.T
    np.fill_diagonal(distances, np.inf)
    nearest = means[distances.argmin(axis=1)] if len(means) > 1 else means.mean(axis=1)[:, None]
    return np.sqrt(((means - nearest) ** 2).mean(axis=(0, 1)))


def some_tasks(tasks: Task | RaggedTasks, number: int, seed: int) -> Task:
    """At most so many of the tasks, at random, each with a bounded number of points."""
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(len(tasks))[:number])
    if isinstance(tasks, RaggedTasks):
        longest = int(tasks.lengths[chosen].max())
        return tasks.take(chosen, length=min(longest, MOST_POINTS), rng=rng)
    return tasks[chosen]


def _respond(
    inputs: Inputs, points: Float[np.ndarray, "system active"]
) -> tuple[Response, Float[np.ndarray, "system active"]]:
    """How the active coordinates of systems follow their inputs (ridge regression), and by how much
    those of each do. The reference is the system most like the average."""
    averages = np.asarray(compiled(jax.vmap(Inputs.average), brief=True)(inputs), float)
    distances = ((averages - averages.mean(axis=0)) ** 2).sum(axis=1)
    reference = averages[np.argmin(distances)]
    apart = averages - averages.mean(axis=0)
    ridge = RIDGE * len(apart) * np.eye(apart.shape[1])
    shift = np.linalg.solve(apart.T @ apart + ridge, apart.T @ (points - points.mean(axis=0))).T
    constant = Inputs(np.zeros(1, np.float32), reference[None].astype(np.float32))
    shifts = (averages - reference) @ shift.T
    return Response(constant, shift.astype(np.float32)), shifts


def _at_reference(process: AbstractProcess, tasks: Task, latents, grid, reference: Inputs):
    """What each system would look like with the reference inputs."""

    def one(arguments):
        task, z = arguments
        code = process.encode(task.observations.under(reference))
        decoded = process.decode(Sample(z, code.deterministic), grid)
        return decoded.loc, decoded.scale

    return jax.lax.map(one, (tasks, latents), batch_size=16)


def _look(process: AbstractProcess, tasks: Task, grid):
    """Of each task: z with all that is known, what it decodes to, and how that depends on z."""

    def guessed(task: Task):
        return process.encode(task.observations, task.privileged).latent

    guesses = jax.lax.map(guessed, tasks, batch_size=16)
    mean = jnp.mean(guesses.loc, axis=0)
    apart, within = guesses.loc - mean, jnp.mean(guesses.scale**2, axis=0)
    precision = jnp.linalg.inv(apart.T @ apart / len(apart) + jnp.diag(within))

    def one(task: Task):
        code = process.encode(task.observations, task.privileged)
        z = explaining_latent(process, task.observations, code, mean, precision)

        def decoded(z):
            normal = process.decode(Sample(z, code.deterministic), grid)
            return normal.loc, normal.scale

        means, scales = decoded(z)
        jacobian = jax.jacfwd(lambda z: decoded(z)[0])(z) / scales[..., None]
        return z, code.latent.scale, means, scales, jacobian

    return jax.lax.map(one, tasks, batch_size=16)
