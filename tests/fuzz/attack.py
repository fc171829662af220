"""What attacks share: how long they are, a small model, and values that nobody expects."""

import functools
import io
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import lupi
from fuzz.law import END

CORPUS = Path(__file__).parent / "corpus"
"""What has broken something once, and must not again."""

IS_LONG = float("inf") != END


def examples(number: int) -> settings:
    """So many in `make test`, always the same; many more, and others each time, in `make fuzz`."""
    common = settings(
        deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
    )
    if IS_LONG:
        return settings(common, max_examples=20 * number, print_blob=True)
    return settings(common, max_examples=number, derandomize=True, database=None)


@functools.cache
def model() -> lupi.Forecaster:
    """A small forecaster of `x` and `y` over `t` in runs called `run`, with a privileged `k`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return lupi.load(Path(__file__).parents[1] / "old_files" / "forecaster.lupi")


@functools.cache
def model_file() -> bytes:
    """The same as a file."""
    file = io.BytesIO()
    model().save(file)
    return file.getvalue()


@functools.cache
def runs() -> pd.DataFrame:
    """Such runs as the model was trained on."""
    rng = np.random.default_rng(0)
    tables = []
    for i in range(6):
        k, t = rng.uniform(1, 3), np.sort(rng.uniform(0, 5, 8))
        x, y = 10 + np.sin(k * t), 100 * np.cos(k * t)
        tables.append(pd.DataFrame({"run": f"r{i}", "t": t, "x": x, "y": y, "k": k}))
    return pd.concat(tables, ignore_index=True).round(4)


TINY = ["--preset", "paper", "--model", "cnp", "--process.hidden-size", "2"]
TINY += ["--process.representation-size", "2"]
"""Settings of a training that is over as soon as it is compiled; with an epoch or two."""

CELLS = st.sampled_from(
    [
        *("", " ", "nan", "NaN", "NA", "null", "None", "-", "inf", "-inf", "Infinity"),
        *("0", "-0.0", "1e300", "-1e300", "1e308", "1e-320", "1e400", "-9999", "9.97e36"),
        *("9007199254740993", "18446744073709551616", "1_000", "1,5", "0x10", "1e", "--1"),
        *("true", "False", "2020-01-01", "2020-01-01T00:00:00Z", "2020-13-45", "12:30", "1s"),
        *("abc", "é", "漢", "\U0001f4a5", "\x1b[31m", "\x00", '"', '""', "'", "\\", "=1+1", "\t"),
    ]
)

NUMBERS = st.sampled_from(
    [
        *("0", "1", "2", "3", "-1", "1.5", "0.0", "-0.5", "1e-9", "nan", "inf", "-inf", "1e400"),
        *(str(2**31), str(2**32), str(2**63), str(2**70), "1e300", "00", "+3", "0x3", "one", ""),
    ]
)

KINDS = ["flip", "set", "cut", "put", "truncate", "swap"]
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(KINDS), st.integers(0, 2**14), st.integers(0, 255), st.integers(0, 2**14)
    ),
    min_size=1,
    max_size=3,
)
"""What is done, at which byte, with what number, and at which other byte."""


def changed(file: bytes, changes: list[tuple[str, int, int, int]]) -> bytes:
    """A file with bytes changed, cut out, put in or exchanged."""
    content = bytearray(file)
    for kind, place, number, other in changes:
        place, other = place % len(content), other % len(content)
        match kind:
            case "flip":
                content[place] ^= 1 << number % 8
            case "set":
                content[place] = number
            case "cut":
                del content[place : place + number]
            case "put":
                content[place:place] = bytes([number])
            case "truncate":
                del content[max(place, 1) :]
            case "swap":
                content[place], content[other] = content[other], content[place]
        content = content or bytearray(1)
    return bytes(content)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


def places_in(value, before=()):
    """Where there is something in a tree of dictionaries and lists."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in inner:
        yield (*before, key)
        if isinstance(item, dict | list):
            yield from places_in(item, (*before, key))


def change_somewhere(tree: dict, draw) -> None:
    """Something else, or nothing, in one place of a tree of dictionaries and lists."""
    place = draw(st.sampled_from(list(places_in(tree))))
    within = functools.reduce(lambda part, key: part[key], place[:-1], tree)
    if draw(st.booleans()):
        within[place[-1]] = draw(JSON)
    else:
        del within[place[-1]]
