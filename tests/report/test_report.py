import re
import shutil

import pytest
from rich.console import Console

from lupi.experiments import Record, Results, collect, quick_settings, read_results
from lupi.experiments.results import Floor, Metric
from lupi.metrics import Estimate
from lupi.report import build_tables, describe_claims, to_terminal, write_report
from lupi.report.paper import METRICS, TABLE_1, unit
from lupi.report.table import FULL_METRICS, _show, over_seeds


@pytest.fixture(scope="module")
def reported(smoke_run):
    write_report(smoke_run)
    return smoke_run


def test_the_papers_table_is_whole_and_lupi_wins_accuracy_and_calibration_in_it():
    assert len(TABLE_1) == 12
    less_sharp = 0
    for (experiment, model, mode), lupi in TABLE_1.items():
        if model == "lupi":
            nopi = TABLE_1[experiment, "nopi", mode]
            assert lupi.mse.mean < nopi.mse.mean
            assert lupi.spread_calibration_error.mean < nopi.spread_calibration_error.mean
            less_sharp += lupi.spread_std.mean > nopi.spread_std.mean
    assert less_sharp == 5


def test_a_cell_is_the_mean_over_seeds_in_the_papers_unit_beside_the_papers_value(reported):
    results = read_results(reported)
    value = over_seeds(results.records, "lotka-volterra", "lupi", "train", "mse")
    table = next(t for t in build_tables(results) if t.experiment == "lotka-volterra")
    row = next(row for row in table.rows if row.label == "LUPI*")
    assert row.cells[0].text == f"{value.mean / 1e-3:.2f} ± {value.stderr / 1e-3:.2f}"
    assert row.cells[0].paper == "0.73 ± 0.02"
    assert unit("stiffness", "mse") == pytest.approx(1e-2)
    assert unit("damping", "spread_std") == pytest.approx(1e-2)


def bold(nopi: list[float], lupi: list[float]) -> dict[str, list[bool]]:
    """Which of its three cells each model has in bold, with these values of all metrics."""
    records = [
        Record(
            experiment="stiffness",
            model=model,
            seed=seed,
            mode="test",
            metrics={name: Metric(mean=value, stderr=0.1) for name in METRICS + FULL_METRICS},
            seconds={},
        )
        for model, values in (("nopi", nopi), ("lupi", lupi))
        for seed, value in enumerate(values)
    ]
    floors = [Floor(experiment="stiffness", seed=0, mse=Metric(mean=2.0, stderr=0.1))]
    (table,) = build_tables(Results(settings={}, records=records, floors=floors, claims=[]))
    return {row.label: [cell.better for cell in row.cells] for row in table.rows}


def test_what_is_better_by_more_than_both_standard_errors_is_bold_but_not_for_sharpness():
    found = bold([1.0, 1.1, 1.2], [0.5, 0.55, 0.6])
    assert found == {"NoPI": [False] * 3, "LUPI": [True, True, False]}


def test_nothing_is_bold_where_the_standard_errors_overlap():
    """Means 1.0 and 0.9, with standard errors of 0.06 each."""
    found = bold([0.9, 1.0, 1.1], [0.8, 0.9, 1.0])
    assert found == {"NoPI": [False] * 3, "LUPI": [False] * 3}


def test_nothing_is_bold_with_one_seed():
    assert bold([1.0], [0.1]) == {"NoPI": [False] * 3, "LUPI": [False] * 3}


def test_at_most_one_of_each_pair_is_bold(reported):
    for table in build_tables(read_results(reported)):
        for first, second in ((0, 1), (2, 3)):
            pair = [table.rows[first], table.rows[second]]
            for column in (0, 1):
                assert sum(row.cells[column].better for row in pair) <= 1
            assert not any(row.cells[2].better for row in pair)


def test_the_markdown_table_has_every_row_the_floor_and_the_full_distribution(reported):
    text = (reported / "table.md").read_text()
    for label in ("NoPI", "LUPI", "NoPI*", "LUPI*"):
        assert text.count(f"| {label} |") == 4
    assert text.count("Floor of the MSE") == 2
    assert "1.05 ± 0.05" in text
    assert "initial weights 1.73 times PyTorch's default" in text


def test_the_terminal_table_fits_eighty_columns(reported):
    console = Console(width=80, record=True)
    tables = build_tables(read_results(reported))
    console.print(to_terminal(tables[0]))
    text = console.export_text()
    assert "NoPI*" in text
    assert "1.05" in text
    assert "…" not in text


def test_every_figure_is_there_as_png_and_svg(reported):
    names = {path.name for path in (reported / "figures").iterdir()}
    stems = {"induced-dynamics", "stiffness", "lotka-volterra", "training"}
    assert names == {f"{stem}.{kind}" for stem in stems for kind in ("png", "svg")}
    for path in (reported / "figures").glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size > 10_000


def test_the_page_stands_alone(reported):
    page = (reported / "report.html").read_text()
    assert page.count("data:image/png;base64,") == 5
    assert not re.search(r'(src|href)="(?!data:)', page)
    assert "A short run" in page
    for claim in describe_claims(read_results(reported).claims):
        assert claim.verdict in page


def test_a_report_on_one_model_and_one_seed_claims_nothing(smoke_run, tmp_path):
    out = shutil.copytree(smoke_run, tmp_path / "out")
    for path in out.glob("runs/*/nopi"):
        shutil.rmtree(path)
    for path in out.glob("runs/*/*/seed-1"):
        shutil.rmtree(path)
    collect(quick_settings(epochs=2), out)
    tables = write_report(out)
    assert [row.label for row in tables[0].rows] == ["LUPI", "LUPI*"]
    assert "±" not in tables[0].rows[0].cells[0].text
    assert "only one was trained here" in (out / "report.html").read_text()


def test_claims_read_as_sentences(reported):
    first, *_, last = describe_claims(read_results(reported).claims)
    assert first.statement == "LUPI is more accurate at test time: stiffness"
    assert re.match(
        r"NoPI [\d.]+, LUPI [\d.]+, gain [+-][\d.]+ \[[+-][\d.]+, [+-][\d.]+\], \d of 2 seeds",
        first.evidence,
    )
    assert first.paper == "NoPI 1.05, LUPI 0.93"
    assert last.paper == "in 5 of 6"


def test_a_row_averages_only_over_seeds_that_every_model_has(smoke_run, tmp_path):
    out = shutil.copytree(smoke_run, tmp_path / "out")
    shutil.rmtree(out / "runs" / "stiffness" / "nopi" / "seed-1")
    results = collect(quick_settings(epochs=2), out)
    table = next(t for t in build_tables(results) if t.experiment == "stiffness")
    assert table.seeds == 1
    assert all("±" not in row.cells[0].text for row in table.rows)


@pytest.mark.parametrize(
    ("mean", "stderr", "text"),
    [
        (5.2e-3, 0.7e-3, "0.52 ± 0.07"),
        (1.5e-5, 0.2e-5, "0.0015 ± 0.0002"),
        (3.3e-7, 0.4e-7, "(3.3 ± 0.4)·10⁻⁵"),
        (3.3e-7, None, "3.3·10⁻⁵"),
        (0.0, None, "0.00"),
    ],
)
def test_small_numbers_are_shown_with_digits_that_tell(mean, stderr, text):
    assert _show(Estimate(mean, stderr), 1e-2) == text
