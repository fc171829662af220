"""What is set in the environment, by whom, and that an import sets nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import lupi
from lupi._machinery.environment import LARGEST_LOOP, worker_environment

OPTION = f"--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold={LARGEST_LOOP}"
USERS = "--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=64"


def run(script: str, **environment: str) -> str:
    """What a script prints in a process of its own, with these variables and no XLA_FLAGS."""
    inherited = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=inherited | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("flags", [{}, {"XLA_FLAGS": "--xla_dump_to=here"}], ids=["none", "some"])
def test_importing_lupi_leaves_the_environment_alone(flags):
    script = (
        "import os; before = dict(os.environ);"
        "import lupi, lupi.forecasting, lupi.experiments, lupi.cli;"
        "assert dict(os.environ) == before, set(os.environ.items()) ^ set(before.items())"
    )
    run(script, **flags)


def test_the_command_line_sets_the_option():
    script = (
        "import os; from lupi.cli import main; main(['models']); print(os.environ['XLA_FLAGS'])"
    )
    assert run(script).splitlines()[-1] == OPTION


def test_small_loops_are_compiled_whole_where_it_is_asked_for():
    environment = {}
    lupi.compile_small_loops(environment)
    assert environment == {"XLA_FLAGS": OPTION}


def test_a_users_flags_stay_and_asking_twice_changes_nothing():
    environment = {"XLA_FLAGS": "--xla_dump_to=here"}
    lupi.compile_small_loops(environment)
    assert environment["XLA_FLAGS"] == f"--xla_dump_to=here {OPTION}"
    lupi.compile_small_loops(environment)
    assert environment["XLA_FLAGS"] == f"--xla_dump_to=here {OPTION}"


def test_a_users_own_option_is_left_alone():
    environment = {"XLA_FLAGS": USERS}
    lupi.compile_small_loops(environment)
    assert environment["XLA_FLAGS"] == USERS


def test_a_mapping_that_is_given_is_the_only_one_changed(monkeypatch):
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    lupi.compile_small_loops({})
    assert "XLA_FLAGS" not in os.environ


def test_without_one_it_is_this_process_that_is_changed(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=here")
    lupi.compile_small_loops()
    assert os.environ["XLA_FLAGS"] == f"--xla_dump_to=here {OPTION}"


def test_a_worker_keeps_the_users_flags():
    flags = worker_environment({"XLA_FLAGS": "--xla_dump_to=here"})["XLA_FLAGS"].split()
    assert flags[0] == "--xla_dump_to=here"
    assert "--xla_cpu_multi_thread_eigen=false" in flags


def test_a_worker_compiles_small_loops_whole():
    for flags in ({}, {"XLA_FLAGS": "--xla_dump_to=here"}):
        assert worker_environment(flags)["XLA_FLAGS"].split().count(OPTION) == 1


def test_a_worker_keeps_the_users_own_option():
    flags = worker_environment({"XLA_FLAGS": USERS})["XLA_FLAGS"].split()
    assert [flag for flag in flags if "extra_options" in flag] == [USERS]


def test_a_worker_has_one_core_and_a_cache(tmp_path):
    environment = worker_environment({"XDG_CACHE_HOME": str(tmp_path)})
    threads = ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    assert {environment[name] for name in threads} == {"1"}
    folder = str(tmp_path / "lupi" / "compiled")
    assert environment["JAX_COMPILATION_CACHE_DIR"] == folder


def test_a_worker_keeps_the_users_cache():
    environment = worker_environment({"JAX_COMPILATION_CACHE_DIR": "elsewhere"})
    assert environment["JAX_COMPILATION_CACHE_DIR"] == "elsewhere"


def test_the_environment_a_workers_is_made_from_is_not_changed():
    environment = {"XLA_FLAGS": "--xla_dump_to=here"}
    worker_environment(environment)
    assert environment == {"XLA_FLAGS": "--xla_dump_to=here"}


KINDS = """
import lupi
{setting}
import jax, jax.numpy as jnp

def loop(x):
    return jax.lax.fori_loop(0, 10, lambda i, x: jnp.tanh(x) + i, x)

for size in ({small}, {large}):
    print("xla_cpu_small_call" in jax.jit(loop).lower(jnp.ones(size)).compile().as_text())
"""


@pytest.mark.parametrize(
    ("setting", "whole"),
    [("lupi.compile_small_loops()", ["True", "False"]), ("", ["False", "False"])],
    ids=["asked for", "not asked for"],
)
def test_xla_knows_the_option(setting, whole):
    """A loop that is compiled whole stands in a call of its own."""
    small, large = LARGEST_LOOP // 16, LARGEST_LOOP  # four bytes each
    assert run(KINDS.format(setting=setting, small=small, large=large)).split() == whole


FAKE_WINDOWS = "import sys; sys.modules['fcntl'] = None; "


def test_it_is_imported_where_there_is_no_fcntl():
    run(FAKE_WINDOWS + "import lupi, lupi.forecasting, lupi.experiments, lupi.report, lupi.cli")


def test_data_are_simulated_where_there_is_no_fcntl(tmp_path):
    path = tmp_path / "runs.csv"
    arguments = ["simulate", "damping", "--out", str(path), "--series", "3", "--points", "5"]
    run(FAKE_WINDOWS + f"from lupi.cli import main; main({arguments!r})")
    assert len(path.read_text().splitlines()) == 1 + 3 * 5


def test_workers_of_a_user_without_a_home_keep_nothing_compiled(monkeypatch):
    def unknown(*_):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", unknown)
    assert "JAX_COMPILATION_CACHE_DIR" not in worker_environment({})
    somewhere = {"XDG_CACHE_HOME": "/somewhere"}
    folder = str(Path("/somewhere/lupi/compiled"))
    assert worker_environment(somewhere)["JAX_COMPILATION_CACHE_DIR"] == folder


@pytest.mark.skipif(sys.platform == "win32", reason="there are no users with numbers here")
def test_a_forecast_is_drawn_for_a_user_without_a_name_or_a_home(tmp_path):
    """As in a container: the number of the user is not in the list of users."""
    script = """
import pwd, sys
def unknown(user):
    raise KeyError(f"getpwuid(): uid not found: {user}")
pwd.getpwuid = unknown
from lupi.__main__ import run
sys.argv = ["lupi", *sys.argv[1:]]
run()
"""
    model = Path(__file__).parents[1] / "old_files" / "forecaster.lupi"
    arguments = ["predict", model, "--times", "1,2", "--out", "f.csv", "--plot", "f.png"]
    homes = {"HOME", "USER", "LOGNAME", "USERNAME", "MPLCONFIGDIR"}
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in homes and not name.startswith("XDG_")
    }
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env=kept,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "f.png").stat().st_size > 1000
