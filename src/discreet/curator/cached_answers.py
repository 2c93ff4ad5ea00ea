"""Counting questions that are asked within an error. They share all noisy counts that were paid for."""

from dataclasses import dataclass, field

from discreet.answers.answer import Answer
from discreet.answers.explanation import Explanation
from discreet.bounds.calibrate import Plan, budget_of, check_cap
from discreet.curator.charging import ChargedData
from discreet.curator.public_tables import PublicTables
from discreet.model.policy import PrivateTable
from discreet.model.receipt import Receipt
from discreet.question.answer_size import check_storable
from discreet.question.counting import plain_count
from discreet.release.older_keys import older_prefixes
from discreet.synth.cached.cache import Asked, Cache
from discreet.synth.cached.reading_release import ReadingRelease
from discreet.synth.cached.reading_text import most_bytes
from discreet.synth.cached.strategy import Buy, Pay
from discreet.synth.cached.table import CachedTable


@dataclass(slots=True)
class CachedAnswers:
    """The caches of all tables with `answers = "cached"`, by name."""

    data: ChargedData
    public: PublicTables
    caches: dict[str, Cache] = field(default_factory=dict)

    def explained(self, found: Explanation, plan: Plan) -> Explanation:
        """The explanation, with what the cache would do; unchanged if no cache answers."""
        cached = self.asked(plan)
        if cached is None:
            return found
        cache, asked = cached
        return cache.explained(found, asked.step, self.data.left())

    def answer(self, sql: str, plan: Plan) -> Answer | None:
        """The answer from a cache; None if no cache answers this question."""
        found = self.asked(plan)
        if found is None:
            return None
        cache, asked = found
        paid = (
            self._charge_reading(sql, cache, asked, asked.step) if isinstance(asked.step, Pay | Buy) else None
        )
        last, released = cache.answer(asked)
        return Answer(
            released=released,
            charged=(paid or last).charged,
            left=self.data.left(),
            receipt=paid or last,
            repeated=False,
            cached=not paid,
            budget=budget_of(self.data.dataset),
        )

    def asked(self, plan: Plan) -> tuple[Cache, Asked] | None:
        """A counting question about cached columns, asked within an error; None for all others."""
        count = plain_count(plan.bounded.query)
        table = None if count is None else self.data.dataset.tables[count.table]
        if count is None or not isinstance(table, PrivateTable) or not table.cached:
            return None
        if table.name not in self.caches:
            cached = CachedTable.of(table, self.data.dataset, self.public.reading().keys)
            self.caches[table.name] = Cache(cached, self.data.ledger, older=older_prefixes(cached))
        cache = self.caches[table.name]
        asked = cache.ask(count, plan.request, left=self.data.left(), direct=plan.loss)
        if asked is None:
            return None
        if isinstance(asked.step, Pay | Buy):
            check_storable(most_bytes(asked.step), "Ask about fewer columns at once, or for an epsilon.")
        return cache, asked

    def _charge_reading(self, sql: str, cache: Cache, asked: Asked, step: Pay | Buy) -> Receipt:
        """Take the reading that a question needs."""
        check_cap(step.loss, self.data.dataset)
        reading = ReadingRelease(table=cache.table.narrowed(step), step=step, key=asked.key)
        receipt, _, _ = self.data.charge_and_draw(sql, reading)
        return receipt
