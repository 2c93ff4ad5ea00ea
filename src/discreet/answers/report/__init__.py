"""Reports as the analyst gets them: the answers of many questions that were paid together.

report               the answers, and what they cost
page                 all of it as one page of HTML
report_explanation   what is said of a report before anything is spent
reading              both from their JSON
"""
