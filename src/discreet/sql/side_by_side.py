"""The results of several SELECTs in one statement."""

from collections.abc import Sequence

from discreet.sql.weights import group_by

Piece = tuple[str, tuple[int, ...], int | None]
"""A SELECT, the parts whose sums it has, and the part whose people it counts."""


def side_by_side(pieces: Sequence[Piece], keys: int) -> str:
    """Several results with the same keys as one, NULL keys included."""
    if len(pieces) == 1:
        return pieces[0][0]
    counted = [i for *_, i in pieces if i is not None]
    wanted = sorted([*counted, *(i for _, chosen, _ in pieces for i in chosen)])
    names = [*(f"k{i}" for i in range(keys)), *(["bin"] if counted else [])]
    selects = []
    for sql, chosen, lost in pieces:
        has = {f"k{i}" for i in range(keys)} | {f"s{i}" for i in chosen}
        has |= set() if lost is None else {"bin", f"s{lost}"}
        columns = [name if name in has else f"NULL AS {name}" for name in names]
        columns += [f"s{i}" if f"s{i}" in has else f"0 AS s{i}" for i in wanted]
        selects.append(f"SELECT {', '.join(columns)} FROM ({sql}) AS piece")
    totals = [f"sum(s{i}) AS s{i}" for i in wanted]
    return f"SELECT {', '.join([*names, *totals])} FROM ({' UNION ALL '.join(selects)}) AS pieces" + group_by(
        names
    )
