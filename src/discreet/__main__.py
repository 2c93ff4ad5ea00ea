"""`python -m discreet` is `discreet`."""

from discreet.apps.commands.main import main

if __name__ == "__main__":
    main()
