"""The playground, as a person uses it."""

import io
import re
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

from browser.conftest import settle

SEED_3 = "#m=springs&s=3"


def panel(page, column, chart=0):
    return page.locator(f".back[data-column={column}]").nth(chart).bounding_box()


def click(page, column, x, y=0.5, **options):
    """Click into a panel, at shares of its width and its height."""
    box = panel(page, column)
    page.mouse.click(box["x"] + x * box["width"], box["y"] + y * box["height"], **options)
    settle(page)


def points(page):
    """The observations as the table shows them."""
    rows = page.locator("#rows tbody tr").all()
    return [[field.input_value() for field in row.locator("input").all()] for row in rows]


def width_of_band(page, chart=0):
    """The mean height of the first panel's 90 % band, in pixels."""
    d = page.locator(".wide").nth(2 * chart).get_attribute("d")
    ys = [float(pair.split()[1]) for pair in re.findall(r"[\d.]+ [\d.-]+", d)]
    upper, lower = ys[: len(ys) // 2], ys[len(ys) // 2 :][::-1]
    return float(np.mean(np.subtract(lower, upper)))


def problem(page):
    page.wait_for_selector("#problem:not([hidden])")
    return page.text_content("#problem")


def test_a_click_looks_at_the_hidden_system_and_the_forecast_changes(opened):
    page = opened(SEED_3)
    before = page.text_content("#found"), page.locator(".wide").first.get_attribute("d")
    click(page, "x1", 0.3)
    ((t, x1, x2),) = points(page)
    assert float(t) == pytest.approx(3.0, abs=0.05)
    assert float(x1) == pytest.approx(-float(x2), abs=1e-4)
    after = page.text_content("#found"), page.locator(".wide").first.get_attribute("d")
    assert "k =" in after[0]
    assert before[0] != after[0]
    assert before[1] != after[1]
    assert "o=3" in page.url


@pytest.mark.slow
def test_with_inference_two_clicks_make_the_bands_narrow(opened):
    page = opened("#m=searching&s=3")
    before = width_of_band(page)
    click(page, "x1", 0.1)
    click(page, "x1", 0.2)
    assert width_of_band(page) < 0.7 * before


def test_keys_move_and_remove_an_observation_and_it_comes_back(opened):
    page = opened(SEED_3)
    click(page, "x1", 0.3)
    (before,) = points(page)
    page.keyboard.press("ArrowRight")
    settle(page)
    (after,) = points(page)
    assert float(after[0]) == pytest.approx(float(before[0]) + 0.1, abs=0.02)
    assert after[1] != before[1]  # it slides along the truth
    page.keyboard.press("ArrowUp")
    settle(page)
    assert float(points(page)[0][1]) > float(after[1])
    page.keyboard.press("Delete")
    settle(page)
    assert points(page) == []
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    settle(page)
    assert points(page) == [after]
    page.keyboard.press("Control+y")
    page.keyboard.press("Control+y")
    settle(page)
    assert points(page) == []


def complaints(page):
    from axe_core_python.sync_playwright import Axe

    found = Axe().run(page)["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:120]}" for one in found]


def test_axe_finds_nothing_to_complain_about(opened):
    page = opened(SEED_3 + "&truth=1&o=0.5;2.1,0.3,")
    for card in page.locator("details summary").all():
        if card.is_visible():
            card.click()
    assert complaints(page) == []


@pytest.mark.slow
def test_axe_finds_nothing_in_the_dark_on_a_phone_and_in_the_docs(opened, address):
    page = opened("#m=springs&b=own", color_scheme="dark", viewport={"width": 420, "height": 800})
    assert complaints(page) == []
    page.goto(address + "docs")
    page.wait_for_selector(".card")
    assert complaints(page) == []


@pytest.mark.slow
def test_dragging_slides_along_the_truth_and_pulls_off_it(opened):
    page = opened(SEED_3)
    click(page, "x1", 0.3)
    (before,) = points(page)
    box = page.locator(".point[data-column=x1] .dot").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 80, y, steps=4)
    settle(page)
    (slid,) = points(page)
    assert float(slid[0]) > float(before[0]) + 0.8
    assert float(slid[1]) == pytest.approx(-float(slid[2]), abs=1e-3)
    page.mouse.move(x + 80, y - 60, steps=4)
    page.mouse.up()
    settle(page)
    (pulled,) = points(page)
    assert float(pulled[1]) > float(slid[1]) + 0.1
    assert pulled[2] == slid[2]
    page.click("#undo")
    settle(page)
    assert points(page) == [before]


@pytest.mark.slow
def test_while_dragging_one_request_is_under_way_and_the_latest_wins(opened):
    page = opened(SEED_3)
    under_way, most, last = set(), [0], []

    def asked(request):
        if "forecast" in request.url:
            under_way.add(request)
            most[0] = max(most[0], len(under_way))
            last[:] = [request.post_data_json["observations"]["t"]]

    page.on("request", asked)
    page.on("requestfinished", lambda request: under_way.discard(request))
    click(page, "x1", 0.2)
    box = page.locator(".point[data-column=x1] .dot").bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    for step in range(60):
        page.mouse.move(box["x"] + 5 + 4 * step, box["y"] + 5)
    page.mouse.up()
    settle(page)
    assert most[0] == 1
    assert last == [[float(points(page)[0][0])]]


@pytest.mark.slow
def test_a_right_click_removes(opened):
    page = opened(SEED_3 + "&o=1;2")
    box = page.locator(".point .dot").first.bounding_box()
    page.mouse.click(box["x"] + 5, box["y"] + 5, button="right")
    settle(page)
    assert [row[0] for row in points(page)] == ["2"]


@pytest.mark.slow
def test_a_value_is_typed_or_marked_missing(opened):
    page = opened(SEED_3 + "&o=1;2")
    requests = []
    page.on("request", lambda r: requests.append(r.post_data_json) if r.post_data else None)
    field = page.get_by_label("x1 of observation 1")
    field.fill("0.25")
    field.press("Enter")
    settle(page)
    assert requests[-1]["observations"]["x1"][0] == 0.25
    field = page.get_by_label("x1 of observation 1")
    field.fill("")
    field.press("Enter")
    settle(page)
    assert requests[-1]["observations"]["x1"][0] is None
    assert page.locator(".point.off").count() == 1
    page.locator(".point.off").focus()
    page.keyboard.press("m")
    settle(page)
    assert page.locator(".point.off").count() == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("field", "typed", "said"),
    [("x1", "much", "expected a number"), ("t", "soon", "expected a time"), ("t", "2", "another")],
)
def test_what_cannot_be_typed_is_told_and_what_was_there_stays(opened, field, typed, said):
    page = opened(SEED_3 + "&o=1;2")
    before = points(page)
    page.get_by_label(f"{field} of observation 1").fill(typed)
    page.keyboard.press("Enter")
    assert said in problem(page)
    settle(page)
    assert points(page) == before


@pytest.mark.slow
def test_tab_goes_on_to_the_next_field_from_one_that_was_changed(opened):
    page = opened(SEED_3 + "&o=1;2")
    field = page.get_by_label("t of observation 1")
    field.focus()
    field.fill("1.5")
    page.keyboard.press("Tab")
    settle(page)
    assert page.evaluate("document.activeElement.ariaLabel").startswith("x1 of observation 1")


@pytest.mark.slow
def test_a_run_is_uploaded_or_pasted_and_a_mistake_in_it_told(opened):
    page = opened("#m=own")
    table = b"t,x1,x2\n0.5,0.9,-0.9\n2.0,0.1,\n"
    page.set_input_files("#file", {"name": "run.csv", "mimeType": "text/csv", "buffer": table})
    settle(page)
    assert points(page) == [["0.5", "0.9", "-0.9"], ["2", "0.1", ""]]
    page.locator("summary", has_text="Your own data").click()
    page.fill("#paste", "time,x1\n1,2\n")
    page.click("#take")
    assert "expected the columns t, x1, x2" in problem(page)
    page.fill("#paste", "t\tx1\tx2\n1\t0.5\t-0.5\n")
    page.click("#take")
    settle(page)
    assert points(page) == [["1", "0.5", "-0.5"]]


@pytest.mark.slow
def test_what_the_server_refuses_is_told(opened):
    page = opened("#m=own&o=1,99,0")
    assert "standard deviations" in problem(page)
    assert any("422" in text for text in opened.wrong)
    opened.wrong.clear()  # a browser says of every answer like that that it is an error


@pytest.mark.slow
def test_a_truth_that_there_cannot_be_is_told(opened):
    page = opened(SEED_3 + "&p=k:99")
    assert "k must be from 0.1 to 1.5" in problem(page)
    assert any("422" in text for text in opened.wrong)
    opened.wrong.clear()


@pytest.mark.slow
def test_a_link_that_was_mangled_opens_the_page(opened):
    page = opened("#m=gone&b=gone&s=x&known=a:%25&start=x&o=;;x,1;1;2,,,,&truth=2")
    assert page.locator(".wide").count() == 2
    assert [row[0] for row in points(page)] == ["1", "2"]


def downloaded(page, button):
    if not page.locator("#take-away").get_attribute("open"):
        page.locator("#take-away").evaluate("card => { card.open = true; }")
    with page.expect_download() as waiting:
        page.click(button)
    return waiting.value.path().read_text()


@pytest.mark.slow
def test_the_table_and_the_python_lines_have_the_same_numbers(opened, catalogue, monkeypatch):
    page = opened(SEED_3 + "&o=0.5;2.1")
    table = pd.read_csv(io.StringIO(downloaded(page, "#save-csv")))
    lines = page.text_content("#python")
    monkeypatch.setattr(
        "lupi.serving.built_in.load_built_in", lambda name: catalogue.get(name).forecaster
    )
    names = {}
    exec(lines, names)
    pd.testing.assert_frame_equal(table, names["forecast"].to_dataframe(quantiles=[0.25, 0.75]))


@pytest.mark.slow
def test_the_picture_stands_alone(opened):
    page = opened(SEED_3 + "&b=own&o=0.5;2.1")
    text = downloaded(page, "#save-svg")
    root = ET.fromstring(text)
    assert len(root.findall(".//{http://www.w3.org/2000/svg}path")) > 10
    assert "class=" not in text
    assert "var(" not in text


@pytest.mark.slow
def test_a_link_shows_the_same(opened):
    page = opened(SEED_3)
    click(page, "x1", 0.3)
    click(page, "x2", 0.6)
    page.click("#truth")
    settle(page)
    again = opened(page.url[page.url.index("#") :])
    assert points(again) == points(page)
    assert again.text_content("#found") == page.text_content("#found")
    assert again.text_content("#truth") == "Hide truth"


@pytest.mark.slow
def test_the_truth_is_shown_and_its_parameters_set(opened):
    page = opened(SEED_3 + "&o=1;2")
    assert not page.locator("#parameters").is_visible()
    page.click("#truth")
    settle(page)
    assert "truth" in page.text_content("#found")
    slider = page.locator("#parameters input")
    before = points(page)
    slider.focus()
    slider.press("End")
    page.get_by_text("(not learnt)").wait_for()
    settle(page)
    assert points(page) != before  # what was revealed of the one is of the other now
    page.click("#another")  # asks for the other system before it asks for a forecast
    page.locator("#rows tbody tr").first.wait_for(state="detached")
    settle(page)
    assert points(page) == []
    assert not page.locator("#parameters").is_visible()


@pytest.mark.slow
def test_the_best_next_time_can_be_clicked_and_reached_by_keys(opened):
    page = opened(SEED_3)
    page.locator("g.next").click()
    settle(page)
    assert len(points(page)) == 1
    page.locator("g.next").focus()
    page.keyboard.press("Enter")
    settle(page)
    page.click("#look")
    settle(page)
    page.get_by_label("Look at t =").fill("7.5")
    page.keyboard.press("Enter")
    settle(page)
    assert "7.5" in [row[0] for row in points(page)]


@pytest.mark.slow
def test_points_that_fit_no_system_are_told(opened):
    page = opened("#m=searching&s=3&o=1,-0.9,0.9;2,0.9,-0.9;4,0.9,0.9")
    assert "fit no system" in page.text_content("#surprise")


@pytest.mark.slow
def test_two_models_stand_side_by_side_and_share_their_points(opened):
    page = opened("#m=searching&s=3&o=1")
    page.select_option("#beside", "encoder")
    settle(page)
    assert page.locator(".chart").count() == 2
    assert page.locator("#found .value").count() == 2
    box = panel(page, "x1", chart=1)
    page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 20)
    settle(page)
    assert len(points(page)) == 2
    assert page.locator(".chart").first.locator(".point").count() == 4


@pytest.mark.slow
def test_a_model_of_ones_own_takes_the_value_that_was_clicked(opened):
    page = opened("#m=own")
    click(page, "x1", 0.4, 0.25)
    ((_, x1, x2),) = points(page)
    assert float(x1) > 0.4
    assert abs(float(x2)) < 0.5
    assert not page.locator("#truth").is_visible()


@pytest.mark.slow
def test_trajectories_are_shown_on_demand(opened):
    page = opened(SEED_3)
    assert not page.locator(".possible").first.get_attribute("d")
    page.click("#samples")
    settle(page)
    assert page.locator(".possible").first.get_attribute("d").count("M") == 12


@pytest.mark.slow
def test_a_phone_shows_all_without_scrolling_sideways_and_a_tap_observes(opened):
    page = opened(SEED_3, viewport={"width": 420, "height": 800}, has_touch=True, is_mobile=True)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    assert page.locator("aside").bounding_box()["width"] <= 420
    box = panel(page, "x1")
    page.touchscreen.tap(box["x"] + 0.4 * box["width"], box["y"] + 0.5 * box["height"])
    settle(page)
    assert len(points(page)) == 1


@pytest.mark.slow
def test_a_finger_drags_a_point(opened):
    page = opened(SEED_3 + "&o=3", viewport={"width": 420, "height": 800}, has_touch=True)
    box = page.locator(".point[data-column=x1] .dot").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    fingers = page.context.new_cdp_session(page)

    def touch(kind, *places):
        points = [{"x": place, "y": y} for place in places]
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", x)
    for step in range(1, 9):
        touch("touchMove", x + 10 * step)
    touch("touchEnd")
    settle(page)
    ((t, *_),) = points(page)
    assert float(t) > 4.5
    assert f"o={t}" in page.url


@pytest.mark.slow
def test_everything_can_be_done_by_keyboard_alone(opened):
    page = opened(SEED_3)
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "add-time":
            break
    page.keyboard.type("2.5")
    page.keyboard.press("Enter")
    settle(page)
    assert [row[0] for row in points(page)] == ["2.5"]
    for _ in range(60):
        page.keyboard.press("Shift+Tab")
        if page.evaluate("document.activeElement.classList.contains('point')"):
            break
    page.keyboard.press("Shift+ArrowLeft")
    settle(page)
    assert [row[0] for row in points(page)] == ["2"]


@pytest.mark.slow
def test_a_token_in_the_link_is_kept_out_of_the_address(opened, guarded):
    page = opened("#token=a-token-of-some-length&m=springs&s=3", at=guarded)
    assert "token" not in page.url
    assert len(page.locator(".wide").all()) == 2
    page.goto(guarded + "docs")
    page.wait_for_selector(".card")


@pytest.mark.slow
def test_the_docs_try_what_they_tell(opened, address):
    page = opened()
    page.goto(address + "docs")
    card = page.locator(".card", has_text="POST /v1/forecast")
    card.get_by_role("button", name="Send").click()
    answer = card.locator("pre")
    answer.wait_for()
    assert answer.text_content().startswith("200\n{")
