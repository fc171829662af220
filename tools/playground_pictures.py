"""Make the pictures of the playground in the docs: `python tools/playground_pictures.py`.

Needs Chromium. A picture of two models side by side, and a short animation of a hidden system that
is found out click by click.
"""

import io
import os
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from browser.conftest import settle
from live_server import serving
from lupi.serving.app import ServerSettings
from lupi.serving.catalogue import Catalogue

FIGURES = ROOT / "docs" / "figures"

COMPARED = "#m=lotka-volterra-lupi&b=lotka-volterra-nopi&s=11&truth=1&o=0.6;2.4"
HIDDEN, CLICKS = "#m=lotka-volterra-lupi&s=5", (0.08, 0.3, 0.62, 0.45)
"""The system of the animation, and where it is looked at: shares of the width of a panel."""


def draw_compared(page: Page, address: str) -> None:
    """Two models of one system."""
    page.goto(address + COMPARED)
    settle(page)
    page.wait_for_timeout(400)
    page.screenshot(path=FIGURES / "playground.png")


def draw_found_out(page: Page, address: str) -> None:
    """A system is found out, as a GIF of few colours."""
    frames: list[Image.Image] = []

    def take() -> None:
        settle(page)
        page.wait_for_timeout(300)
        shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        frames.append(shot.quantize(160, dither=Image.Dither.NONE))

    page.goto(address + HIDDEN)
    take()
    box = page.locator(".back").first.bounding_box()
    assert box is not None
    for share in CLICKS:
        page.mouse.click(box["x"] + share * box["width"], box["y"] + 0.5 * box["height"])
        take()
    page.locator("#truth").evaluate("button => button.click()")
    take()
    path = FIGURES / "playground.gif"
    durations = [1500, *[1100] * len(CLICKS), 3000]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=durations, loop=0)
    print(f"{path.name}: {path.stat().st_size:,} bytes")


def main() -> None:
    """Make both."""
    serves = serving(Catalogue.of_files([]), ServerSettings(warm=False))
    address = next(serves)
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        chromium = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        wide = browser.new_page(viewport={"width": 1280, "height": 900})
        draw_compared(wide, address)
        small = browser.new_page(viewport={"width": 1000, "height": 720})
        draw_found_out(small, address)
        browser.close()
    next(serves, None)


if __name__ == "__main__":
    main()
