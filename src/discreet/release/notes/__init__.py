"""What an answer says beside its numbers: how bounding may have changed the truth, in words.

answer_notes      all notes of a question, and those about what limits leave out
condition_notes   conditions that compare a clamped number with what lies beyond its bounds
key_notes         rows that are in no group, and groups that stand for more than their number
key_rows          whether a row can be in no group, by what is computed and by the owner's word
key_ends          which groups stand for all that lies beyond a bound
"""
