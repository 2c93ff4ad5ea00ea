"""How many requests there were and how long they took, as Prometheus reads it: by route and status only."""

import os
from bisect import bisect_left
from collections import Counter

_EDGES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Of one process, and written by its event loop alone."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: Counter[tuple[str, str]] = Counter()
        self._within: dict[tuple[str, str], list[int]] = {}

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """One request that was answered."""
        self._requests[method, route, status] += 1
        self._seconds[method, route] += seconds  # type: ignore[assignment]
        within = self._within.setdefault((method, route), [0] * (len(_EDGES) + 1))
        within[bisect_left(_EDGES, seconds)] += 1

    def text(self, under_way: int) -> str:
        """The lines that Prometheus reads."""
        process = f'process="{os.getpid()}"'
        lines = ["# TYPE discreet_requests_total counter"]
        for (method, route, status), count in sorted(self._requests.items()):
            labels = f'{process},method="{method}",route="{route}",status="{status}"'
            lines.append(f"discreet_requests_total{{{labels}}} {count}")
        lines.append("# TYPE discreet_request_seconds histogram")
        for (method, route), within in sorted(self._within.items()):
            labels, total = f'{process},method="{method}",route="{route}"', 0
            for edge, count in zip((*map(str, _EDGES), "+Inf"), within, strict=True):
                total += count
                lines.append(f'discreet_request_seconds_bucket{{{labels},le="{edge}"}} {total}')
            lines.append(f"discreet_request_seconds_sum{{{labels}}} {self._seconds[method, route]:.6f}")
            lines.append(f"discreet_request_seconds_count{{{labels}}} {total}")
        lines += ["# TYPE discreet_questions_under_way gauge"]
        lines += [f"discreet_questions_under_way{{{process}}} {under_way}"]
        return "\n".join(lines) + "\n"
