"""Local privacy: people randomise their answers themselves, and need not trust whoever collects them.

survey, signing       what is asked, by which mechanism, at which ε: signed, and all that a device knows
survey_file           a survey as its owner writes it
mechanisms/           how an answer becomes a report, what a report says, and what many say together
client, device_store  a device in Python: one report a question, and the file that remembers it
browser/              the same device in JavaScript, and the page of a survey
batch                 what travels from devices to a collector
collector/            reports that are counted: over HTTP, or where they are kept
estimate              what the counts say, with its error
compare, shuffle      what it costs, compared with a shuffler and a curator
"""
