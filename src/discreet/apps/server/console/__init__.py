"""The console: pages for analysts, owners and everybody, made on the server.

sessions     signing in and out, cookies, and the checks of every POST
provider_sign_in  signing in with the account of an organisation
visits       one request of somebody who is signed in
rendering    templates, and the headers of every page
asking       the page to ask, explain while typing, ask
pricing      price, error and risk: each from each other
receipts     answers by their receipt, as a page and as files
shown_answer an answer as the page shows it
what_happened  from the rows to a number, in plain words
combining    the sum, difference and ratio of numbers, with an interval
made_up      example rows and example questions, from the policy alone
overseeing   approvals, accounts, the policy, the log
spending     what was spent over time and by whom
public       what everybody may know
routes       all addresses
"""
