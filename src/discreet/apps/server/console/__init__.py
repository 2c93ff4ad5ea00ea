"""The console: pages for analysts, owners and everybody, made on the server.

sessions     signing in and out, cookies, and the checks of every POST
provider_sign_in  signing in with the account of an organisation
visits       one request of somebody who is signed in
rendering    templates, and the headers of every page
asking       the page to ask, explain while typing, ask
pricing      price, error and risk: each from each other
receipts     answers by their receipt, as a page and as files
answer_views an answer as a page shows it, what happened to a number, numbers together
made_up      example rows and example questions, from the policy alone
overseeing   approvals, accounts, the policy, the log
log_words    events of the log, in words
spending     what was spent over time and by whom
public       what everybody may know
routes       all addresses
"""
