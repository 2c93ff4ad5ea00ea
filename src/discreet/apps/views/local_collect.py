"""Runs a collector until it is interrupted, and exports its counts."""

from collections.abc import Mapping
from pathlib import Path

from discreet.apps.views.escape import shown
from discreet.apps.views.survey import console, open_survey
from discreet.local.collector.acceptance import last_day_on_earth
from discreet.local.collector.counts import write_counts
from discreet.local.collector.service import Settings, application
from discreet.local.collector.store import Collector, counts_of_folder
from discreet.model.exact import positive_count
from discreet.web.guarded import load_server
from discreet.web.listening import address_of, listening, room_for_connections
from discreet.web.serving import Manners, serve, until_interrupted


def collect(
    path: Path, key: str, *, folder: Path, host: str, port: int, cap: int, settings: Settings
) -> None:
    load_server()
    positive_count(settings.minimum, "minimum")
    survey, signed = open_survey(path, key)
    view, room = console(), room_for_connections()
    with Collector(folder, survey, cap=cap) as collector, listening(host, port) as sock:
        with until_interrupted():
            address = address_of(sock, host)
            view.print(f"Collecting [bold]{shown(survey.name)}[/] (epoch {survey.epoch}) at {shown(address)}")
            view.print(f"  in {shown(str(folder))}, until {survey.expires}. Ctrl-C stops.", soft_wrap=True)
            view.print(
                f"  At most {room.connections:,} connections at once: “ulimit -n” sets it.", soft_wrap=True
            )
            if survey.expires < last_day_on_earth():
                view.print("[yellow]![/] The survey has ended: all reports are refused.")
            serve(application(collector, signed, settings), sock, Manners(room=room))
        found, rejected = collector.reports(), collector.rejected()
    view.print(f"\nStopped. {_listed('Reports', found)}")
    view.print(_listed("Rejected", {reason.value: count for reason, count in rejected.items()}))


def export_counts(folder: Path, output: Path) -> None:
    survey, counts, _ = counts_of_folder(folder)
    write_counts(counts, output)
    reports = {
        question.name: question.mechanism.reports_in(tally)
        for question, tally in zip(survey.questions, counts.tallies, strict=True)
    }
    console().print(f"Wrote {shown(str(output))}. {_listed('Reports', reports)}")


def _listed(what: str, counts: Mapping[str, int]) -> str:
    some = ", ".join(f"{shown(name)} {count:,}" for name, count in counts.items())
    return f"{what}: {some or 'none'}."
