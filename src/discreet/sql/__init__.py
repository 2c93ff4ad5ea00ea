"""The SQL that yields exact integers, written anew from our own tree."""
