"""What the figures of a comparison show."""

import numpy as np
from matplotlib.figure import Figure

from lupi.report.comparison_figures import Line, _draw_recovered


def test_every_privileged_value_is_drawn_against_what_is_recovered_of_it():
    truth = np.random.default_rng(0).normal(size=(20, 3))
    arrays = {("lupi", 0): {"privileged": truth, "test_recovered": truth + 1}}
    axis = Figure().subplots()
    _draw_recovered(axis, [Line("lupi", "", "LUPI", "#000000", False)], arrays)
    drawn = [np.column_stack(line.get_data()) for line in axis.lines]
    for value in range(3):
        expected = np.stack([truth[:, value], truth[:, value] + 1], axis=1)
        assert any(len(one) == 20 and np.allclose(one, expected) for one in drawn)
    assert [text.get_text() for text in axis.get_legend().get_texts()] == [
        "value 1",
        "value 2",
        "value 3",
    ]
