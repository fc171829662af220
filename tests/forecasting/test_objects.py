"""What users make is what they expect of a Python object: it is carried, copied, compared and
printed, and does not care who else uses it."""

import copy
import io
import pickle
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import lupi
from blended_runs import COLUMNS, RUNS, fit
from lupi.distributions import NormalMixture
from lupi.errors import UserError
from lupi.forecasting import Forecast
from lupi.forecasting.recovered import Recovered

OLD_FILE = Path(__file__).parents[1] / "old_files" / "forecaster.lupi"
NEW = RUNS[RUNS["run"].isin(["r1", "r3"])].groupby("run").head(4)
TIMES = [0.5, 3.0, 1.0]


def small() -> lupi.Forecaster:
    """One that needs no training."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of how old the file is
        return lupi.load(OLD_FILE)


@pytest.fixture(scope="module")
def table() -> lupi.SeriesTable:
    return lupi.read_series(RUNS, **COLUMNS)


@pytest.fixture(scope="module")
def forecast(blended) -> Forecast:
    return blended.predict(NEW, TIMES)


@pytest.fixture(scope="module")
def evaluation(table):
    return lupi.evaluate(small(), table, context="first:0.5")


@pytest.fixture(scope="module")
def recovered(blended) -> Recovered:
    labels, numbers = np.array(["r1", "r3"]), np.ones((64, 2, 1), np.float32)
    mixture = NormalMixture(numbers, numbers)
    return Recovered(blended.columns, blended.normalisation, labels, mixture)


def assert_same(found: Forecast, expected: Forecast) -> None:
    np.testing.assert_array_equal(found.samples, expected.samples)
    pd.testing.assert_frame_equal(found.to_dataframe(), expected.to_dataframe())
    pd.testing.assert_frame_equal(found.systems(), expected.systems())


# Carried


def test_a_pickled_forecaster_forecasts_the_same_numbers(blended, forecast):
    again = pickle.loads(pickle.dumps(blended))
    assert again == blended
    assert_same(again.predict(NEW, TIMES), forecast)


def test_a_forecaster_is_pickled_as_a_file_that_load_reads(blended):
    _, (content,) = blended.__reduce__()
    assert content in pickle.dumps(blended)
    assert lupi.load(io.BytesIO(content)) == blended


def test_a_forecaster_that_is_not_trained_is_pickled_too():
    forecaster = lupi.Forecaster("paper", members=2)
    again = pickle.loads(pickle.dumps(forecaster))
    assert again == forecaster
    assert not again.is_fitted


def test_forecasts_tables_and_evaluations_are_pickled(forecast, recovered, table, evaluation):
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(recovered)).samples, recovered.samples)
    assert_same(pickle.loads(pickle.dumps(forecast)), forecast)
    assert pickle.loads(pickle.dumps(table)).fingerprint() == table.fingerprint()
    assert pickle.loads(pickle.dumps(evaluation)).metrics == evaluation.metrics


def test_open_files_are_written_and_read(blended, tmp_path):
    blended.save(tmp_path / "path.lupi")
    with (tmp_path / "open.lupi").open("wb") as file:
        blended.save(file)
    assert lupi.load(tmp_path / "open.lupi") == blended
    with (tmp_path / "path.lupi").open("rb") as file:
        assert lupi.load(file) == blended
    assert lupi.load(io.BytesIO((tmp_path / "open.lupi").read_bytes())) == blended


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (io.BytesIO(b"no model"), "the open file is truncated or of another kind"),
        (io.BytesIO(), "the open file is truncated or of another kind"),
        (io.StringIO("text"), 'open for reading bytes, got str: open the file with mode "rb"'),
        (None, "expected a path, or a file that is open for reading bytes, got NoneType"),
    ],
    ids=["another", "empty", "text", "none"],
)
def test_an_open_file_of_something_else_is_refused(file, message):
    with pytest.raises(UserError, match=message):
        lupi.load(file)


@pytest.mark.parametrize("file", [io.StringIO(), None], ids=["text", "none"])
def test_a_file_that_takes_no_bytes_is_refused(blended, file):
    with pytest.raises(UserError, match="expected a path, or a file that is open for writing"):
        blended.save(file)


# Copied


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy])
def test_a_copy_takes_no_time_and_is_trained_apart(how):
    first = small()
    started = time.perf_counter()
    second = how(first)
    assert time.perf_counter() - started < 0.1
    assert second == first
    second._fitted = None
    assert first.is_fitted


def test_provenance_that_is_changed_changes_no_forecaster(blended):
    blended.provenance["data"]["gaps"] = "changed"
    assert blended.provenance["data"]["gaps"] is False


# Compared


def test_forecasters_are_equal_where_all_of_them_is(blended):
    assert copy.copy(blended) == blended
    assert hash(copy.copy(blended)) == hash(blended)
    assert blended != small()
    assert blended != lupi.Forecaster(blended.settings)
    assert blended != "a forecaster"


def test_another_weight_makes_another_forecaster():
    first, second = small(), small()
    assert first == second
    (member,) = second._get().members
    other = jax.tree.map(lambda leaf: leaf + 1e-3, member.process)
    second._get().members[0] = member._replace(process=other)
    assert first != second


def test_everything_is_compared_without_an_exception(
    blended, forecast, recovered, table, evaluation
):
    for one in (blended, forecast, recovered, table, evaluation, forecast.mixture):
        assert one == one
        assert (one == copy.deepcopy(one)) in (True, False)
        assert one != 3


# Printed


def test_everything_prints_itself_in_a_few_lines(blended, forecast, recovered, table, evaluation):
    assert repr(blended) == (
        "<Forecaster: 3 networks of 'lupi', 10 series of 'x', 'y' over 't', privileged 'k'>"
    )
    assert repr(lupi.Forecaster()) == "<Forecaster: 4 networks of 'lupi', not trained>"
    assert repr(forecast) == "<Forecast: 2 series, 6 rows of 'x', 'y' over 't'; 64 samples>"
    assert repr(recovered) == "<Recovered: 'k' of 2 series>"
    assert repr(table) == (
        f"<SeriesTable: 10 series, {len(RUNS)} rows of 'x', 'y' over 't', privileged 'k'>"
    )
    assert repr(evaluation) == "<TableEvaluation: 10 series, 0 refused>"


def test_a_wide_table_prints_itself_in_a_few_lines_too():
    names = [f"a long name of a column, the {i}th of very many" for i in range(300)]
    columns = {name: np.arange(8.0) for name in names}
    wide = pd.DataFrame({"run": np.repeat([1, 2], 4), "t": np.tile(np.arange(4.0), 2)} | columns)
    read = lupi.read_series(wide, series="run", time="t", observed=names)
    assert len(repr(read)) < 300


def test_a_notebook_shows_the_picture_and_the_first_rows_of_a_forecast(forecast):
    before = plt.get_fignums()
    page = forecast._repr_html_()
    assert '<img src="data:image/png;base64,' in page
    assert "x_lower" in page
    assert "and 1 more rows" in page
    assert plt.get_fignums() == before


def test_a_notebook_shows_the_first_rows_of_tables(table, recovered, evaluation):
    assert "<td>r0</td>" in table._repr_html_()
    assert "k_lower" in recovered._repr_html_()
    assert "crps" in evaluation._repr_html_()


def test_a_notebook_shows_text_where_the_picture_fails(forecast, monkeypatch):
    def fails(*_, **__):
        raise RuntimeError("no room to draw in")

    monkeypatch.setattr(Forecast, "plot", fails)
    page = forecast._repr_html_()
    assert "<img" not in page
    assert "x_lower" in page


def test_names_of_columns_are_text_to_a_notebook():
    hostile = "<script>alert(1)</script>"
    runs = {"run": [1, 1, 2, 2], "t": [0.0, 1.0, 0.0, 1.0], hostile: [1.0, 2.0, 3.0, 4.0]}
    page = lupi.read_series(runs, series="run", time="t", observed=hostile)._repr_html_()
    assert "<script>" not in page


# Shared


def test_threads_that_share_a_forecaster_get_the_same_numbers(blended):
    asked = [(NEW[NEW["run"] == run], seed) for run in ("r1", "r3") for seed in range(6)]
    alone = [blended.predict(new, TIMES, seed=seed).samples for new, seed in asked]
    with ThreadPoolExecutor(4) as threads:
        shared = threads.map(lambda one: blended.predict(one[0], TIMES, seed=one[1]).samples, asked)
        for mine, theirs in zip(alone, shared, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_double_precision_that_the_user_has_switched_on_changes_no_forecast(blended, forecast):
    with jax.enable_x64(True):
        assert_same(pickle.loads(pickle.dumps(blended)).predict(NEW, TIMES), forecast)


def test_double_precision_that_the_user_has_switched_on_changes_no_training(blended):
    with jax.enable_x64(True):
        again = fit(RUNS)
    one, other = (model._get().contents for model in (again, blended))
    assert jax.tree.all(jax.tree.map(np.array_equal, one[0], other[0]))
    assert again.parts == blended.parts
