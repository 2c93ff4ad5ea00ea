"""The console in a real browser: narrow and wide, light and dark, by the keyboard alone."""

import re
import time
from fractions import Fraction

import pytest

from discreet.service.user_account import Role
from tests.apps.server.console.served_console import BY_WARD, COUNT

WATCH = """
addEventListener("securitypolicyviolation", (event) => console.error("blocked", event.violatedDirective));
"""
SIZES = {"narrow": (390, 844), "wide": (1280, 900)}


def expect(locator):
    from playwright.sync_api import expect

    return expect(locator)


@pytest.fixture
def complaints():
    """What browsers complained about, and what they asked of other hosts."""
    found = []
    yield found
    assert found == []


@pytest.fixture
def opened(browser, port, complaints, add, tokens):
    """A page of somebody in a browser of their own, who is signed in if they have a name."""
    contexts = []

    def opened(name="", role=Role.ANALYST, *, size="wide", scheme="light", **settings):
        width, height = SIZES[size]
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        context.add_init_script(WATCH)
        page = context.new_page()
        page.on("console", lambda said: said.type in ("error", "warning") and complaints.append(said.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        home = f"http://127.0.0.1:{port}"
        page.on("request", lambda sent: sent.url.startswith(home) or complaints.append(sent.url))
        if name:
            if name not in tokens:
                add(name, role, **settings)
            page.goto(f"{home}/")
            page.get_by_label("Token").fill(tokens[name])
            page.get_by_role("button", name="Sign in").click()
            expect(page.get_by_role("button", name="Sign out")).to_be_visible()
        return page

    yield opened
    for context in contexts:
        context.close()


def write(page, sql, epsilon=None):
    page.get_by_label("Question in SQL").fill(sql)
    if epsilon is not None:
        page.get_by_label("Price, as ε").fill(str(epsilon))
        expect(page.get_by_role("button", name=f"Ask for ε {epsilon}")).to_be_enabled()


def ask(page, sql, epsilon):
    write(page, sql, epsilon)
    page.get_by_role("button", name=f"Ask for ε {epsilon}").click()
    expect(page.locator("#answer section")).to_be_visible()


def fits(page):
    """Nothing is wider than the screen."""
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_the_whole_way(opened, port, size, scheme):
    look = {"size": size, "scheme": scheme}
    ana = opened("ana", approval_above=Fraction(2), most_epsilon=Fraction(8), **look)
    assert fits(ana)
    ask(ana, BY_WARD, 1)
    expect(ana.locator("#answer")).to_contain_text("Cost ε = 1.")
    assert ana.locator(".result tbody svg[role=img]").count() == 3
    expect(ana.locator("#left")).to_have_text("ε 7")
    assert fits(ana)
    ana.get_by_role("button", name="Ask for ε 1").click()
    expect(ana.locator("#answer")).to_contain_text("Free: the same answer as before.")
    write(ana, COUNT)
    ana.get_by_label("Price, as ε").fill("5")
    ana.get_by_label("What is it for?").fill("the yearly report")
    ana.get_by_role("button", name="Send to the owner").click()
    expect(ana.locator("#answer")).to_contain_text("Waits for the owner")
    olga = opened("olga", Role.OWNER, **look)
    olga.get_by_role("link", name="Approvals").click()
    expect(olga.get_by_text("the yearly report")).to_be_visible()
    assert fits(olga)
    olga.get_by_role("button", name="Approve").click()
    expect(olga.get_by_text("Nothing waits.")).to_be_visible()
    ana.get_by_role("link", name="History").click()
    ana.get_by_role("link", name="Ask it now").click()
    expect(ana.locator("#state")).to_have_text("The owner approved it.")
    ana.get_by_role("button", name="Ask for ε 5").click()
    expect(ana.locator("#answer")).to_contain_text("Cost ε = 5.")
    ask(ana, BY_WARD, 1.5)
    expect(ana.locator("#left")).to_have_text("ε 0.5")
    ask(ana, BY_WARD, 1.4)
    expect(ana.locator("#answer")).to_contain_text("Free: answered at ε = 1.5 before.")
    ask(ana, f"{COUNT} WHERE age > 50", 1.4)
    expect(ana.locator("#answer")).to_contain_text("Not answered")
    for place in ("Overview", "Accounts", "Policy", "Log"):
        olga.get_by_role("link", name=place).click()
        expect(olga.get_by_role("link", name=place)).to_have_attribute("aria-current", "page")
        assert fits(olga), place
    anybody = opened(**look)
    anybody.goto(f"http://127.0.0.1:{port}/public/clinic")
    expect(anybody.get_by_text("ε 7.5 of 10 is spent")).to_be_visible()
    assert fits(anybody)


def test_three_controls_move_together(opened):
    page = opened("ana")
    write(page, COUNT, 1)
    error, risk = page.get_by_label("Error, as plus or minus"), page.get_by_label("Risk: what an even")
    expect(risk).to_have_value("73.2")
    before = float(error.input_value())
    error.fill(str(2 * before))
    expect(page.get_by_label("Price, as ε")).to_have_value(re.compile(r"^0\.(4|5)"))
    risk.fill("60")
    expect(page.get_by_label("Price, as ε")).to_have_value("0.405")
    page.get_by_role("slider", name="Price").focus()
    page.keyboard.press("End")
    expect(page.get_by_label("Price, as ε")).to_have_value("10")
    expect(page.locator("#price-text")).to_contain_text("Just this one fits.")
    assert page.locator("#outcomes-picture .outcome").count() == 20


def test_a_refusal_teaches_while_typing(opened):
    page = opened("ana")
    write(page, "SELECT * FROM visits")
    expect(page.locator("#refused")).to_be_visible()
    expect(page.locator("#go")).to_be_disabled()
    expect(page.locator("#go")).to_have_text("Ask")  # nothing stays of what was said of another question
    expect(page.locator("#price-text")).to_be_empty()
    write(page, COUNT)
    expect(page.locator("#refused")).to_be_hidden()
    expect(page.locator("#go")).to_be_enabled()


def test_by_the_keyboard_alone(opened, port, add, tokens):
    add("ana")
    page = opened()
    page.goto(f"http://127.0.0.1:{port}/sign-in")
    expect(page.get_by_label("Token")).to_be_focused()
    page.keyboard.type(tokens["ana"])
    page.keyboard.press("Enter")
    editor = page.get_by_role("combobox", name="Question in SQL")
    expect(editor).to_be_visible()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "sql":
            break
    page.keyboard.press("Control+A")
    page.keyboard.type("SELECT ward, cou")
    page.keyboard.press("ArrowDown")
    expect(editor).to_have_attribute("aria-activedescendant", "completion-0")
    page.keyboard.press("Enter")
    expect(editor).to_have_value("SELECT ward, count(")
    page.keyboard.type("*) AS n FROM visits GROUP BY war")
    page.keyboard.press("Escape")
    page.keyboard.type("d")
    expect(page.locator("#go")).to_be_enabled()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "epsilon"
    page.keyboard.press("Control+A")
    page.keyboard.type("1.5")
    expect(page.locator("#go")).to_have_text("Ask for ε 1.5")
    page.keyboard.press("Enter")
    expect(page.locator("#answer")).to_contain_text("Cost ε = 1.5.")
    assert page.evaluate("document.activeElement.id") == "answer"
    for _ in range(3):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className") == "cell":
            page.keyboard.press("Space")
    expect(page.locator(".combined dt").first).to_have_text("sum")


def test_a_question_without_sql(opened):
    page = opened("ana")
    page.get_by_text("Without SQL").click()
    page.get_by_label("Show").select_option(label="average cost")
    page.get_by_label("For each").select_option(label="ward")
    page.get_by_label("Only where").select_option(label="ward")
    page.get_by_label("Value", exact=True).select_option(label="south")
    sql = "SELECT ward, avg(cost) AS average\nFROM visits\nWHERE ward = 'south'\nGROUP BY ward"
    expect(page.get_by_label("Question in SQL")).to_have_value(sql)
    expect(page.locator("#go")).to_be_enabled()


NAMELESS = """() => [...document.querySelectorAll("input, select, textarea, button, a, svg, progress")]
    .filter((each) => each.type !== "hidden" && !each.closest("[aria-hidden=true]"))
    .filter((each) => !each.labels?.length && !each.getAttribute("aria-label"))
    .filter((each) => !each.textContent.trim()).map((each) => each.outerHTML)"""


def test_everything_has_a_name(opened, port):
    """For those who hear the page: no control and no picture is nameless."""
    page = opened("olga", Role.OWNER)
    ask(page, BY_WARD, 1)
    assert page.evaluate(NAMELESS) == []
    for place in ("Ask", "History", "Overview", "Approvals", "Accounts", "Policy", "Log"):
        page.get_by_role("link", name=place, exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_count(1)
        assert page.evaluate(NAMELESS) == [], place
    page.get_by_role("link", name="History").click()
    page.get_by_role("link", name="Receipt").click()
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    assert page.evaluate(NAMELESS) == []
    anybody = opened()
    for path in ("sign-in", "public/clinic"):
        anybody.goto(f"http://127.0.0.1:{port}/{path}")
        expect(anybody.get_by_role("heading", level=1)).to_have_count(1)
        assert anybody.evaluate(NAMELESS) == [], path


def test_hostile_text_runs_nothing(opened, port):
    page = opened("ana")
    evil = "<img src=x onerror=document.title=1>"
    write(
        page,
        f"SELECT ward AS \"{evil}\", count(*) AS n FROM visits WHERE lower(ward) <> '{evil}' GROUP BY 1",
        1,
    )
    page.get_by_role("button", name="Ask for ε 1").click()
    expect(page.locator("#answer")).to_contain_text(evil)
    page.goto(f"http://127.0.0.1:{port}/history")
    expect(page.locator("main")).to_contain_text(evil)
    assert page.locator("img[src=x]").count() == 0
    assert page.title() != "1"


def test_the_page_is_there_within_a_second(opened, port):
    page = opened("ana")
    sizes = []
    page.on("response", lambda answer: sizes.append(len(answer.body())))
    begun = time.monotonic()
    page.goto(f"http://127.0.0.1:{port}/ask/clinic", wait_until="load")
    taken = time.monotonic() - begun
    expect(page.locator("#go")).to_have_text(re.compile("Ask for ε"))
    assert sum(sizes) < 300_000
    assert taken < 10  # a second at rest; timings are no reason to fail on a machine that does other things
