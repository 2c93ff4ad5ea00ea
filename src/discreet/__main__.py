"""`python -m discreet` is `discreet`."""

from discreet.apps.cli import main

if __name__ == "__main__":
    main()
