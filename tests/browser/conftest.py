"""A real browser, and a real server at the loopback address."""

import os
import shutil

import pytest

from live_server import serving
from lupi.serving.app import ServerSettings
from lupi.serving.built_in import load_built_in
from lupi.serving.catalogue import Catalogue, Served

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)


@pytest.fixture(scope="session")
def browser():
    """Headless Chromium; without one there is nothing to test."""
    if CHROMIUM is None:
        pytest.skip("no Chromium here: on Debian, `apt-get install chromium`")
    from playwright.sync_api import sync_playwright

    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def catalogue():
    """A hidden system by its encoder, which is ready soon; the same as if it were a user's model;
    and by inference."""
    springs = load_built_in("stiffness-lupi")
    quick = springs.with_inference("amortised")
    return Catalogue(
        [
            Served("springs", quick, system="stiffness"),
            Served("own", quick, file="own.lupi"),
            Served("searching", springs, system="stiffness"),
        ]
    )


@pytest.fixture(scope="session")
def address(catalogue):
    yield from serving(catalogue, ServerSettings(warm=False))


@pytest.fixture(scope="session")
def guarded(catalogue):
    """One with a token."""
    yield from serving(catalogue, ServerSettings(warm=False, token="a-token-of-some-length"))


@pytest.fixture
def opened(browser, address):
    """Opens the page; at the end: nothing was complained about, and nobody else was asked."""
    wrong, contexts = [], []

    def open_page(fragment="", *, at=address, **options):
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 860}} | options))
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda m: m.type in ("error", "warning") and wrong.append(m.text))
        page.on("request", lambda r: r.url.startswith((at, "blob:")) or wrong.append(r.url))
        page.goto(at + fragment)
        settle(page)
        return page

    open_page.wrong = wrong
    yield open_page
    for context in contexts:
        context.close()
    assert not wrong


def settle(page):
    """Wait until what is shown is what was asked last."""
    page.wait_for_function(
        "() => { const d = document.documentElement.dataset;"
        " return d.asked && d.asked === d.shown; }",
        timeout=60_000,
    )
