"""The survey's page, in a real browser, against a real collector."""

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from discreet.local.batch import read_batch
from tests.local.page_server import NEEDED, survey
from tests.servers import missing

ROOT = Path(__file__).parent.parent.parent
INSTALL = "apt-get install --yes chromium fonts-liberation"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
)
WATCH = """
addEventListener("securitypolicyviolation", (event) => console.error("blocked", event.violatedDirective));
"""
NO_STORAGE = "IDBFactory.prototype.open = () => { throw new DOMException('denied', 'SecurityError'); };"
FULL_STORAGE = (
    "IDBObjectStore.prototype.put = () => { throw new DOMException('full', 'QuotaExceededError'); };"
)
OPTIONS = dict(enumerate(("no", "sometimes", "daily")))


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    command = [sys.executable, "-m", "tests.local.page_server", tmp_path_factory.mktemp("page") / "reports"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def executable():
    return next(filter(None, map(shutil.which, BROWSERS)), None) or missing("Chromium", INSTALL)


@pytest.fixture(scope="module")
def browser():
    found = executable()
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=30_000)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=[*ARGUMENTS])
        yield launched
        launched.close()


class Visitor:
    """One device: its tabs share a memory. Notes what it sent, and whatever the browser complains about."""

    def __init__(self, context, address):
        self.context, self.address = context, address
        self.sent, self.complaints = [], []

    def tab(self):
        page = self.context.new_page()
        page.on(
            "console", lambda said: said.type in ("error", "warning") and self.complaints.append(said.text)
        )
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self._note)
        page.goto(self.address)
        return page

    def _note(self, request):
        if request.method == "POST":
            self.sent.append(request.post_data_buffer)

    def reports(self):
        """What each message carried, but for the number that is a new one each time."""
        return [message[:17] + message[33:] for message in self.sent]


@contextmanager
def visiting(browser, address, *, script=WATCH, **settings):
    context = browser.new_context(**settings)
    try:
        context.add_init_script(script)
        yield Visitor(context, address)
    finally:
        context.close()


@pytest.fixture
def visitor(browser, address):
    with visiting(browser, address) as found:
        yield found
        assert found.complaints == []


def expect(locator):
    from playwright.sync_api import expect

    return expect(locator)


def set_up(page, limit=None):
    if limit is not None:
        page.get_by_label("Most that this browser may ever give away").fill(str(limit))
    page.get_by_role("button", name="Set up").click()
    expect(page.locator("#setup")).to_be_hidden()


def answer(page, *, smokes="daily", town="Foxton", bus=42, hours=7.5):
    page.get_by_role("radio", name=smokes, exact=True).check()
    page.get_by_label("Search").fill(town[1:3])
    page.get_by_label("Your answer").select_option(label=town)
    page.locator("#answer-bus").fill(str(bus))
    page.locator("#answer-hours").fill(str(hours))


def send(page, outcome="counted"):
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#outcome")).to_contain_text(outcome)


def shown(page):
    """The bytes that the page says it sent about each question."""
    return {q.name: page.locator(f'[data-bytes="{q.name}"]').text_content() for q in survey().questions}


def problem(page):
    expect(page.locator("#problem")).to_be_visible()
    return page.locator("#problem").text_content()


def test_what_the_page_says_it_sent_is_what_went_over_the_network(visitor):
    page = visitor.tab()
    set_up(page)
    answer(page)
    expect(page.locator("#report-smokes")).to_contain_text("Nothing has left yet")
    send(page)
    [message] = visitor.sent
    assert page.locator("#request-bytes").text_content() == message.hex()
    batch = read_batch(message, survey())
    assert [batch.reports[place].shape[0] for place in range(4)] == [1, 1, 1, 1]
    carried = {q.name: batch.reports[place].tobytes().hex() for place, q in enumerate(survey().questions)}
    assert shown(page) == carried
    expect(page.locator("#spent-words")).to_have_text("ε = 5 of at most 10")


def test_the_page_says_in_words_what_a_report_says(visitor):
    page = visitor.tab()
    set_up(page)
    answer(page)
    send(page)
    smokes, town, bus, hours = (
        page.locator(f'[data-words="{q.name}"]').text_content() for q in survey().questions
    )
    reports = {name: bytes.fromhex(sent) for name, sent in shown(page).items()}
    assert f"“{OPTIONS[reports['smokes'][0].bit_length() - 1]}”" in smokes
    _assert_lists(town, survey().questions[1], reports["town"])
    _assert_lists(bus, survey().questions[2], reports["bus"])
    place = int.from_bytes(reports["hours"], "little")
    assert ("upper end" in hours, "lower end" in hours, "a place" in hours) == (
        place == 1,
        place == 0,
        place > 1,
    )
    for question, most in (("smokes", "73 %"), ("bus", "88 %")):
        expect(page.locator(f"#report-{question}")).to_contain_text(f"may now believe at most {most}")


def _assert_lists(words, question, report):
    """The options that are likelier under the report, by the mechanism in Python: how many, and the first."""
    mechanism = question.mechanism
    likely = [mechanism.probability(report, option) for option in range(mechanism.answers)]
    supported = [option for option, chance in enumerate(likely) if chance == max(likely)]
    names = [
        str(option) if isinstance(question.options, int) else question.options[option] for option in supported
    ]
    assert f"{len(supported)} options: {', '.join(names[:4])}" in words


def test_a_second_visit_and_another_answer_send_the_same_report(visitor):
    page = visitor.tab()
    set_up(page)
    answer(page)
    send(page)
    before = shown(page)
    page.reload()
    expect(page.locator("#report-smokes")).to_contain_text("Reported before")
    assert shown(page) == before
    answer(page, smokes="no", town="Ashham", bus=7, hours=11)
    send(page, outcome="it counts once")
    expect(page.locator("#report-smokes")).to_contain_text("Repeated: the same report as before")
    assert shown(page) == before
    first, second = visitor.reports()
    assert first == second
    assert visitor.sent[0] == visitor.sent[1]
    expect(page.locator("#spent-words")).to_have_text("ε = 5 of at most 10")


def test_tabs_that_send_at_the_same_time_send_the_same_report(visitor):
    """Independent reports would be the same with probability below 1 in 5,000 each time; 4 tabs: 1e-11."""
    tabs = [visitor.tab() for _ in range(4)]
    set_up(tabs[0])
    for tab in tabs[1:]:
        tab.reload()
    for tab in tabs:
        answer(tab)
    for tab in tabs:
        tab.evaluate("setTimeout(() => document.getElementById('send').click(), 300)")
    for tab in tabs:
        expect(tab.locator("#outcome")).to_contain_text("Sent")
    assert len(visitor.sent) == 4
    assert len(set(visitor.sent)) == 1


COUNT_UP = """
import("/discreet-local.js").then(async ({ browserStore }) => {
  const store = browserStore("counting");
  for (let turn = 0; turn < 150; turn++) await store.update((count) => (count ?? 0) + 1);
  document.title = "counted";
});
"""
COUNTED = """
() => import("/discreet-local.js").then(async ({ browserStore }) => {
  let counted;
  await browserStore("counting").update((count) => (counted = count));
  return counted;
})
"""


def test_no_tab_overwrites_what_another_remembered(visitor):
    """localStorage under a lock of navigator.locks fails here: a tab does not see the latest write."""
    tabs = [visitor.tab() for _ in range(2)]
    for tab in tabs:
        expect(tab.locator("#asking")).to_be_visible()  # its title does not change any more
    for tab in tabs:
        tab.evaluate(f"() => {{ {COUNT_UP} }}")
    for tab in tabs:
        expect(tab).to_have_title("counted")
    assert tabs[0].evaluate(COUNTED) == 300


def test_the_estimate_moves_with_the_reports(visitor):
    page = visitor.tab()
    counted = page.locator('[data-question="smokes"] p.small').first
    expect(counted).to_be_visible()
    before = _count(counted)
    page.get_by_role("button", name="Simulate 1,000 neighbours").click()
    expect(page.locator("#simulated")).to_contain_text("1,000 people who do not exist")
    expect(counted).to_contain_text(f"{before + 1000:,} reports; intervals of 95 %")
    names = page.locator('[data-question="smokes"] .name').all_text_contents()
    values = page.locator('[data-question="smokes"] .value').all_text_contents()
    assert names == ["no", "sometimes", "daily"]
    assert all(re.fullmatch(r"−?\d+\.\d ± \d+\.\d %", value) for value in values)
    expect(page.locator('[data-question="hours"] .value')).to_contain_text("±")
    set_up(page)
    page.get_by_role("radio", name="no", exact=True).check()
    send(page)
    expect(counted).to_contain_text(f"{before + 1001:,} reports")


def _count(locator):
    return int(re.match(r"[\d,]+", locator.text_content()).group().replace(",", ""))


def test_below_the_reports_that_it_takes_there_is_no_estimate(visitor):
    page = visitor.context.new_page()
    few = {"demo": False, "questions": [{"name": "smokes", "reports": 12, "needed": NEEDED}]}
    page.route("**/estimate.json", lambda route: route.fulfill(json=few))
    page.goto(visitor.address)
    expect(page.locator('[data-question="smokes"]')).to_contain_text("12 of the 100 reports")
    expect(page.get_by_role("button", name="Simulate")).to_be_hidden()


def test_the_policy_is_strict_and_nothing_is_blocked(visitor):
    page = visitor.tab()
    answered = page.goto(visitor.address)
    policy = answered.headers["content-security-policy"]
    for part in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"):
        assert part in policy
    assert "unsafe" not in policy
    expect(page.locator("#asking")).to_be_visible()


def test_a_browser_without_a_memory_does_not_send(visitor):
    page = visitor.tab()
    answer(page)
    expect(page.get_by_role("button", name="Send")).to_be_disabled()
    page.locator("#answer-hours").press("Enter")
    page.wait_for_timeout(300)
    assert visitor.sent == []


@pytest.mark.parametrize("script", [NO_STORAGE, FULL_STORAGE], ids=["forbidden", "full"])
def test_where_nothing_can_be_remembered_nothing_is_sent(browser, address, script):
    with visiting(browser, address, script=script) as visitor:
        page = visitor.tab()
        assert problem(page)
        for form in ("setup", "answers"):
            page.evaluate(f"document.getElementById('{form}').requestSubmit()")
        page.wait_for_timeout(300)
        assert visitor.sent == []


def test_a_memory_that_is_full_once_answers_are_given_sends_nothing(visitor):
    page = visitor.tab()
    set_up(page)
    answer(page)
    page.evaluate(f"() => {{ {FULL_STORAGE} }}")
    page.locator("#answer-bus").fill("43")
    assert "full" in problem(page)  # which is told, and not only thrown
    page.get_by_role("button", name="Send").click()
    assert "full" in problem(page)
    assert visitor.sent == []


def test_beyond_the_limit_nothing_is_sent(visitor):
    page = visitor.tab()
    set_up(page, limit=1.5)
    page.get_by_role("radio", name="daily").check()
    send(page)
    answer(page)
    page.get_by_role("button", name="Send").click()
    assert "may not give away as much" in problem(page)
    assert len(visitor.sent) == 1
    expect(page.locator("#spent-words")).to_have_text("ε = 1 of at most 1.5")


def test_a_survey_that_another_key_signed_or_that_was_altered_is_not_shown(visitor):
    page = visitor.context.new_page()
    file = page.request.get(f"{visitor.address}survey.json").json()
    altered = file | {"survey": file["survey"].replace("daily", "often")}
    page.route("**/survey.json", lambda route: route.fulfill(body=json.dumps(altered)))
    page.goto(visitor.address)
    assert "not signed by the key" in problem(page)
    expect(page.locator("#asking")).to_be_hidden()


def test_when_the_collector_refuses_the_page_says_why(visitor):
    page = visitor.context.new_page()
    told = {"problem": "The survey has ended.", "remedy": "Ask for the present one."}
    page.route("**/reports", lambda route: route.fulfill(status=400, json=told))
    page.goto(visitor.address)
    set_up(page)
    page.get_by_role("radio", name="daily").check()
    page.get_by_role("button", name="Send").click()
    assert problem(page) == "The survey has ended. Ask for the present one."


def test_a_message_without_an_answer_is_sent_again_as_it_was(visitor):
    page = visitor.context.new_page()
    tried = []

    def lost_twice(route):
        tried.append(route.request.post_data_buffer)
        route.abort() if len(tried) < 3 else route.continue_()

    page.route("**/reports", lost_twice)
    page.goto(visitor.address)
    set_up(page)
    page.get_by_role("radio", name="daily").check()
    send(page)
    assert len(tried) == 3
    assert len(set(tried)) == 1


def test_the_keyboard_alone_is_enough(visitor):
    page = visitor.tab()
    expect(page.locator("#setup")).to_be_visible()
    page.get_by_label("Most that this browser may ever give away").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#setup")).to_be_hidden()
    page.locator("#question-smokes input").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.type("oakt")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    for _ in range(4):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#outcome")).to_contain_text("counted 2 reports")
    expect(page.locator("#report-smokes")).to_contain_text("no stays here")
    expect(page.locator("#report-town")).to_contain_text("Oakton stays here")


def test_every_input_has_a_label(visitor):
    page = visitor.tab()
    expect(page.locator("#questions fieldset")).to_have_count(4)
    unnamed = page.locator("input, select, progress").evaluate_all(
        "all => all.filter((one) => !one.labels?.length && !one.ariaLabel).map((one) => one.outerHTML)"
    )
    assert unnamed == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_is_wider_than_the_screen(browser, address, width, scheme):
    settings = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme}
    with visiting(browser, address, **settings) as visitor:
        page = visitor.tab()
        set_up(page)
        answer(page)
        send(page)
        page.locator("summary").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        background = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        brightness = sum(map(int, re.findall(r"\d+", background)[:3])) / 3
        assert (brightness < 60) == (scheme == "dark")
        assert visitor.complaints == []


def test_without_a_browser_the_tests_say_what_to_install(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(pytest.skip.Exception, match=INSTALL):
        executable()
