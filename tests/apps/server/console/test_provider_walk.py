"""Signing in at a provider, in a real browser: it is another site, and browsers hold back strict cookies."""

import re

import pytest

ELSEWHERE = re.compile("^https:")
"""The provider's own pages have a font there."""
WATCH = """
addEventListener("securitypolicyviolation", (event) => console.error("blocked", event.violatedDirective));
"""


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)], ids=["wide", "narrow"])
def test_the_way_to_the_provider_and_back(browser, console, bind, provider, width, height):
    from playwright.sync_api import expect

    bind("ana", "24400320")
    complaints = []
    context = browser.new_context(viewport={"width": width, "height": height})
    context.add_init_script(WATCH)
    page = context.new_page()
    page.route(ELSEWHERE, lambda route: route.fulfill(body=""))
    page.on("console", lambda said: said.type in ("error", "warning") and complaints.append(said.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{console}/history")
    expect(page.get_by_label("Token")).to_be_visible()
    page.get_by_role("link", name="Sign in with Clinic").click()
    page.get_by_placeholder("Enter any login").fill("24400320")
    page.get_by_placeholder("and password").fill("any")
    page.get_by_role("button", name="Sign-in").click()
    assert page.url.startswith(provider.issuer)
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url(f"{console}/history")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    cookies = {each["name"]: each for each in context.cookies(console)}
    assert cookies["discreet-session"]["sameSite"] == "Strict"
    assert "discreet-sign-in" not in cookies
    page.get_by_role("button", name="Sign out").click()
    page.goto(f"{console}/history")
    page.get_by_role("link", name="Sign in with Clinic").click()  # the provider remembers them
    page.wait_for_url(f"{console}/history")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert complaints == []
    context.close()
