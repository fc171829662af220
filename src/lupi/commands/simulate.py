"""`lupi simulate`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from lupi.commands.options import Json, Whole, show
from lupi.commands.outputs import Overwrite, check_files
from lupi.errors import UserError, check_name, check_seed, check_whole

MOST_NOISE = 1e6
"""Beyond it there is nothing but noise."""


def simulate(
    system: str,
    /,
    *,
    out: Path,
    series: Whole = 500,
    points: Whole = 51,
    noise: float = 0.0,
    irregular: Annotated[bool, Parameter(negative="")] = False,
    seed: Whole = 0,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Write a data set of a built-in system.

    Columns: `series`, `t` from 0 to the system's horizon, what is observed, and what is privileged.

    Parameters
    ----------
    system
        Which family: stiffness, damping or lotka-volterra, the paper's (t to 10); pendulum (to 5),
        epidemic (40), drug (24), or line-and-sine (4), which is no dynamics.
    out
        The file: .csv, .parquet or .nc.
    series
        How many systems are drawn.
    points
        Observations of each.
    noise
        The standard deviation of Gaussian noise on every observation, in units of its column's
        standard deviation.
    irregular
        Give each series its own random times, and from half to all of the points.
    seed
        Another seed draws other systems.
    overwrite
        Write over a file that is there.
    json
        Print JSON for programs.
    """
    check_whole("--series", series, least=1)
    check_whole("--points", points, least=2)
    check_seed(seed)
    if not 0 <= noise <= MOST_NOISE:
        raise UserError(f"--noise must be from 0 to {MOST_NOISE:g}, got {noise}.")
    from lupi.data.writing import check_suffix, write_table

    check_suffix(out)
    check_files(reads=(), writes=[("--out", out)], overwrite=overwrite)
    import jax

    from lupi.data.generation import simulate_table
    from lupi.experiments.experiment import Simulation
    from lupi.experiments.paper import BUILT_IN

    check_name("system", system, BUILT_IN)
    source = BUILT_IN[system].source
    assert isinstance(source, Simulation)  # as all that are built in
    table = simulate_table(
        source.system,
        series,
        horizon=source.horizon,
        num_points=points,
        noise=noise,
        irregular=irregular,
        key=jax.random.key(seed),
    )
    write_table(out, table.to_dataframe())
    columns = table.columns
    options = (
        f"--series {columns.series} --time {columns.time} "
        f"--observed {','.join(columns.observed)} --privileged {','.join(columns.privileged)}"
    )
    result = {"file": str(out), "series": len(table), "rows": len(table.times), "options": options}
    show(result, as_json=json)
