"""Local privacy: people randomise their answers themselves, and need to trust nobody who collects them.

survey        what is asked, by which mechanism, at which ε: signed, and all a device needs to know
mechanisms/   how an answer becomes a report, what a report says, and what many say together
client        a device: it randomises an answer once, remembers, and repeats
collector/    where reports are checked, counted once, and added up; over HTTP too
at_rest       the same for reports in files and tables
estimate      shares and means with their errors
"""
