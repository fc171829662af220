"""`lupi serve`, from its first word to its last."""

import importlib.util
import os
import re
import signal
import socket
import subprocess
import sys
import threading

import httpx2 as httpx
import pytest

from lupi.cli import main
from lupi.serving.built_in import FOLDER


def fails(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["serve", "--no-browser", *arguments])
    assert stop.value.code == 2
    return capsys.readouterr().err


def test_without_the_extra_it_says_what_to_install(monkeypatch, capsys):
    there = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "uvicorn" else there(name)
    )
    assert "pip install 'lupi[serve]'" in fails([], capsys)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--host", "0.0.0.0"], "a --token is needed"),
        (["--host", "192.0.2.1"], "a --token is needed"),
        (["--host", "0.0.0.0", "--token", "x" * 20], "--name"),
        (["--token", "short"], "at least 16"),
        (["--port", "70000"], "--port"),
        (["--max-body", "10"], "--max-body"),
        (["--port", "0", "nothing.lupi"], "nothing.lupi"),
        (["--port", "0", "a/one.lupi", "b/one.lupi"], "would be called one"),
    ],
)
def test_a_mistake_is_told_before_anything_is_served(arguments, said, capsys):
    assert said in fails(arguments, capsys)


def test_a_port_that_is_taken_is_told(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "--port" in fails(["--port", str(port)], capsys)


def test_it_says_where_it_is_and_opens_the_browser_there(monkeypatch, capsys):
    opened, ran = threading.Event(), []
    monkeypatch.setattr("webbrowser.open", lambda address: (ran.append(address), opened.set()))

    def serve_nothing(runner, sockets):
        runner.started = True
        opened.wait(10)
        sockets[0].close()

    monkeypatch.setattr("uvicorn.Server.run", serve_nothing)
    main(["serve", "--port", "0", "--token", "0123456789abcdef", str(FOLDER / "damping-nopi.lupi")])
    told = capsys.readouterr()
    found = re.search(r"1 model at (http://127\.0\.0\.1:\d+/)", told.out)
    assert found
    assert ran == [f"{found[1]}#token=0123456789abcdef"]
    assert "stopped" in told.err


@pytest.mark.slow
def test_stopped_while_it_forecasts_it_answers_first_and_ends_with_0(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-m", "lupi", "serve", "--no-browser", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"XDG_CACHE_HOME": str(tmp_path)},
        text=True,
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/", line)
        assert found, line
        answers = []
        # Nothing is compiled yet: it takes seconds.
        asking = threading.Thread(
            target=lambda: answers.append(
                httpx.post(f"{found[0]}v1/forecast", json={"times": [1.0]}, timeout=120)
            )
        )
        asking.start()
        while "running 2" not in httpx.get(f"{found[0]}metrics", timeout=60).text:
            pass
        process.send_signal(signal.SIGTERM)
        asking.join()
        assert answers[0].status_code == 200
        assert process.wait(timeout=30) == 0
        assert "stopped" in process.stderr.read()  # pyright: ignore[reportOptionalMemberAccess]
