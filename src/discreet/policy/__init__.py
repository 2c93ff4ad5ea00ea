"""The policy file: its reader, and the first draft of one."""
