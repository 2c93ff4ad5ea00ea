"""The curator over HTTP: for programs, and for people in a browser."""
