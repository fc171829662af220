import numpy as np

from lupi.report.abilities import Panel, Row, draw_abilities, write_abilities

TIMES = np.linspace(0.0, 15.0, 16)
SEEN = np.array([[1.0, 3.0], [0.5, 0.2]])


def panel(**changes) -> Panel:
    curve = np.cos(TIMES)
    one = Panel("red", TIMES, curve, 1e3 * curve, curve - 1, curve + 1, SEEN, note="off by 0.1")
    return one._replace(**changes)


ROWS = [
    Row("How it goes on", "u", [panel(), panel(), panel()], end_of_training=10.0),
    Row("Another", "x", [panel(learnt=SEEN), panel(), panel()], end_of_training=15.0),
]


def test_each_question_is_a_row_and_each_model_a_column():
    figure = draw_abilities(["ODE", "NP", "NDP"], ROWS)
    titles = [axis.get_title(loc="left") for axis in figure.axes]
    assert titles == ["a  ODE", "b  NP", "c  NDP", "", "", ""]
    assert [axis.texts[0].get_text() for axis in figure.axes] == ["off by 0.1"] * 6


def test_a_forecast_that_is_far_off_does_not_hide_the_truth():
    for axis in draw_abilities(["ODE", "NP", "NDP"], ROWS).axes:
        assert np.ptp(axis.get_ylim()) < 10


def test_what_is_beyond_training_is_marked_where_there_is_any():
    axes = draw_abilities(["ODE", "NP", "NDP"], ROWS).axes
    labels = [axis.get_legend_handles_labels()[1] for axis in axes]
    assert ["beyond training" in some for some in labels] == [True] * 3 + [False] * 3
    assert ["learnt from" in some for some in labels] == [False] * 3 + [True] + [False] * 2


def test_it_is_written_as_a_picture(tmp_path):
    write_abilities(tmp_path / "figure.png", ["ODE", "NP", "NDP"], ROWS)
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
