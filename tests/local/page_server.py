"""A real collector with its page, in a process of its own: python -m tests.local.page_server FOLDER."""

import sys
from datetime import date, timedelta
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.local.collector.service import Settings, application
from discreet.local.collector.store import Collector
from discreet.local.signing import sign
from discreet.local.survey import NumberBetween, OneOf, Survey
from discreet.web.listening import listening
from discreet.web.serving import serve

TOWNS = [
    f"{first}{last}" for first in ("Ash", "Oak", "Elm", "Fox") for last in ("ford", "ton", "ham", "bury")
]
NEEDED = 100


def survey():
    return Survey(
        name="neighbourhood",
        epoch=1,
        expires=date.today() + timedelta(days=30),
        questions=(
            OneOf.ask("smokes", "Do you smoke?", ["no", "sometimes", "daily"], epsilon=1),
            OneOf.ask("town", "Where did you grow up?", TOWNS, epsilon=1),
            OneOf.ask("bus", "Which bus line do you take most?", 500, epsilon=2),
            NumberBetween.ask("hours", "How many hours did you sleep?", 0, 24, epsilon=1),
        ),
    )


def main(folder):
    signed = sign(survey(), Ed25519PrivateKey.generate())
    settings = Settings(minimum=NEEDED, show_estimates=True, demo=True)
    with Collector(Path(folder), survey()) as collector, listening("127.0.0.1", 0) as socket:
        sys.stdout.write(f"http://127.0.0.1:{socket.getsockname()[1]}/\n")
        sys.stdout.flush()
        serve(application(collector, signed, settings), socket)


if __name__ == "__main__":
    main(sys.argv[1])
