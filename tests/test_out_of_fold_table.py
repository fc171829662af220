"""The table that `lupi train` prints."""

import pytest

from lupi.commands.out_of_fold import show_out_of_fold


@pytest.mark.parametrize("number", [1, 3, 7])
def test_it_fits_eighty_columns_with_a_line_for_each_who_forecasts(monkeypatch, capsys, number):
    monkeypatch.setenv("COLUMNS", "80")
    names = [f"blood_pressure_{i}" for i in range(number)]
    who = ["lupi", "mean at that time", "nearest series", "blend"]
    one = {"rmse": dict.fromkeys(names, 70123.4), "coverage_90": 0.9, "crps": 0.2}
    weights = dict.fromkeys(who, 0.25)
    show_out_of_fold({"out_of_fold": dict.fromkeys(who, one), "weights": weights})
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    rows = [line for line in lines if line.startswith(" mean at that time  ")]
    assert sum(line.count("7.01e+04") for line in rows) == number
    assert "25 %" in rows[0]
    assert "…" not in "".join(lines)
