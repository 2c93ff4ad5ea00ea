"""Local privacy: people randomise their answers themselves, and need to trust nobody who collects them.

survey        what is asked, by which mechanism, at which ε: signed, and all a device needs to know
mechanisms/   how an answer becomes a report, what a report says, and what many say together
"""
