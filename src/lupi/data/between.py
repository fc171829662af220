"""Points between those of smooth series, from their neighbours."""

import numpy as np
from jaxtyping import Float, Int

from lupi.data.observations import Observations, Task

NEIGHBOURS = 8
"""Points that a polynomial goes through."""

EXACT = 1e-3
"""Of a column's standard deviation: how well the points of a smooth series follow from the others,
in the root mean square. Between two points a polynomial is ten times as exact as across one."""


def with_points_between(tasks: Task, *, rng: np.random.Generator, instead: bool = False) -> Task:
    """The same tasks; where their series are smooth, with one more point between any two, or with
    these `instead` of their own.

    Series that share their times seem to tell nothing of what lies between. Noise-free ones do:
    there a polynomial through the neighbours is more exact than a network. A series is smooth if
    each of its points follows from the others in this way. One that is noisy, that has gaps or few
    points stays as it is, and where all do nothing changes.
    """
    seen = tasks.observations
    exact = EXACT * _spread(seen)
    length = seen.ts.shape[1]
    ts, ys, mask = (_doubled(np.asarray(part)) for part in (seen.ts, seen.ys, seen.mask))
    gaps = None if seen.gaps is None else _doubled(np.asarray(seen.gaps))
    for i in range(len(tasks)):
        points = np.flatnonzero(mask[i])
        points = points[np.argsort(ts[i, points])]
        times, values = ts[i, points].astype(float), ys[i, points].astype(float)
        if gaps is not None and gaps[i, points].any():
            continue
        if not is_smooth(times, values, exact=exact):
            continue
        new = np.s_[i, length : length + len(points) - 1]
        ts[new] = rng.uniform(times[:-1], times[1:])
        ys[new], mask[new] = values_between(times, values, ts[new].astype(float)), True
        if instead:
            mask[i, :length] = False
    if not mask[:, length:].any():
        return tasks
    return Task(Observations(ts, ys, mask, gaps, seen.inputs), tasks.privileged)


def is_smooth(
    times: Float[np.ndarray, " time"],
    values: Float[np.ndarray, "time column"],
    *,
    exact: Float[np.ndarray, " column"],
) -> bool:
    """Whether values, in the order of their times, follow from those around them so exactly.

    The first and the last have none on one side, and are not asked for.
    """
    if len(times) <= NEIGHBOURS or (np.diff(times) <= 0).any():
        return False
    inner = np.arange(1, len(times) - 1)
    first = np.clip(inner - NEIGHBOURS // 2, 0, len(times) - NEIGHBOURS - 1)
    window = first[:, None] + np.arange(NEIGHBOURS)
    others = window + (window >= inner[:, None])
    errors = _polynomials(times, values, others, times[inner]) - values[inner]
    return bool((np.sqrt((errors**2).mean(axis=0)) <= exact).all())


def values_between(
    times: Float[np.ndarray, " time"],
    values: Float[np.ndarray, "time column"],
    wanted: Float[np.ndarray, " wanted"],
) -> Float[np.ndarray, "wanted column"]:
    """Those of the polynomials through the neighbours of each wanted time."""
    first = np.searchsorted(times, wanted) - NEIGHBOURS // 2
    first = np.clip(first, 0, len(times) - NEIGHBOURS)
    return _polynomials(times, values, first[:, None] + np.arange(NEIGHBOURS), wanted)


def _polynomials(
    times, values, neighbours: Int[np.ndarray, "wanted neighbour"], wanted
) -> Float[np.ndarray, "wanted column"]:
    """Lagrange's, each through neighbours of its own."""
    nodes = times[neighbours]
    own = np.eye(neighbours.shape[1], dtype=bool)
    above = np.where(own, 1.0, (wanted[:, None] - nodes)[:, None, :])
    below = np.where(own, 1.0, nodes[:, :, None] - nodes[:, None, :])
    weights = (above / below).prod(axis=-1)
    return np.einsum("wn,wnc->wc", weights, values[neighbours])


def _spread(seen: Observations) -> Float[np.ndarray, " column"]:
    """The standard deviation of each column over all series; 0 of one that nobody knows."""
    known = np.moveaxis(np.broadcast_to(seen.known, seen.ys.shape), -1, 0)
    columns = zip(np.moveaxis(np.asarray(seen.ys, float), -1, 0), known, strict=True)
    return np.array([ys[there].std() if there.any() else 0.0 for ys, there in columns])


def _doubled(values: np.ndarray) -> np.ndarray:
    """With as much room again along the time."""
    return np.concatenate([values, np.zeros_like(values)], axis=1)
