"""Where reports are collected: checked, counted once, added up. Nothing here knows who sent them, or when.

acceptance       which reports of a batch count, and why the others do not
database         the folder: one SQLite file, one collector at a time
tallies          the tallies of what is committed, in memory
store            the collector: acknowledges a batch when it is on the disk
counts           tallies as a value and as a file; those of several collectors add up
service          the same over HTTP
estimates_json   estimates as JSON
report_files     reports that are kept in a file or a table
"""
