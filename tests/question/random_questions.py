"""Random questions over the clinic: every shape of FROM, of groups and of measures that can be asked.

A question is drawn as text, from the outside in, with the kind of every column known, so that nearly all of
what comes out can be answered. `shapes` says what is in it, so that a test can see that all of it is reached.
"""

from dataclasses import dataclass, field

from hypothesis import strategies as st

TABLES = {
    "visits": {
        "patient": "person",
        "ward": "keyed",
        "cost": "number",
        "age": "integer",
        "note": "text",
        "born": "date",
    },
    "labs": {"patient": "person", "test": "text", "level": "integer"},
}
KEYS, OTHERS = "'north', 'south'", "'a', 'north', 'x'"
"""Constants. A policy that lists keys takes no others."""
WARDS = {"ward": "keyed", "region": "keyed", "beds": "beds"}
NUMERIC = ("number", "integer", "value")


@dataclass(frozen=True)
class Item:
    """A table or subquery of FROM: its text, without an alias, and its columns by kind."""

    sql: str
    columns: dict[str, str]


@dataclass(frozen=True)
class Question:
    sql: str
    keys: tuple[str, ...]
    """The names of the columns that are keys."""
    measures: tuple[str, ...]
    private: bool
    exact: bool
    """Whether plain SQL says the same without doubt: no quantiles, no selection, no doubtful NULLs, and
    nothing that DuckDB lacks."""
    shapes: frozenset[str] = field(default_factory=frozenset)


class Drawing:
    """One question that is being drawn."""

    def __init__(self, draw, *, private):
        self.draw = draw
        self.private = private
        self.shapes = set()
        self.ctes = {}
        self.names = 0

    def one(self, options):
        return self.draw(st.sampled_from(list(options)))

    def chance(self, percent):
        return self.draw(st.integers(0, 99)) >= 100 - percent

    def name(self, letter):
        self.names += 1
        return f"{letter}{self.names}"

    def take(self, shape):
        self.shapes.add(shape)

    # Expressions of one row; `scope` maps what can be written to its kind

    def column(self, scope, kinds):
        found = [text for text, kind in scope.items() if kind in kinds]
        return self.one(found) if found else None

    def number(self, scope):
        column = self.column(scope, NUMERIC)
        if column is None:
            return "1"
        match self.draw(st.integers(0, 9)):
            case 0:
                return f"{column} * 2 - 1"
            case 1:
                return f"CASE WHEN {self.condition(scope)} THEN {column} ELSE 1 END"
            case 2:
                return f"{column} * {self.column(scope, NUMERIC)}"
            case 3:
                return f"CASE WHEN {self.condition(scope)} THEN {column} END"
            case 4:
                return f"abs({column}) + 0.25"
            case 5:
                self.take("other ways to write")
                return self.one(
                    [f"IF({column} > 2, {column}, 0)", f"trunc({column})", f"round({column}, -1)"]
                )
            case 6 if self.column(scope, ("date",)):
                self.take("dates")
                day = self.column(scope, ("date",))
                found = self.one([f"week({day})", f"dayofyear({day})", f"last_day({day}) - {day}"])
                if "-" in found:  # without bounds of dates, it is rounded to many days
                    self.take("days between")
                return found
        return column

    def condition(self, scope):
        text, numeric = self.column(scope, ("text", "keyed")), self.column(scope, NUMERIC)
        match self.draw(st.integers(0, 9)):
            case 0 if text:
                return f"{text} IN ({KEYS if scope[text] == 'keyed' else OTHERS})"
            case 1 if text:
                return f"{text} IS NULL OR {text} < 'm'"
            case 2 if numeric:
                return f"{numeric} BETWEEN 0 AND 5 AND NOT {numeric} = 3"
            case 3 if numeric:
                return f"coalesce({numeric}, 2) >= 2"
            case 4 if numeric and text:
                return f"({numeric} <= 2) = ({text} = {KEYS[:7] if scope[text] == 'keyed' else OTHERS[:3]})"
            case 5 if text:
                self.take("pattern")
                return self.one(
                    [f"{text} ILIKE 'N%'", f"{text} NOT LIKE '%b'", f"regexp_matches({text}, '^(a|n)')"]
                )
            case 6 if self.column(scope, ("date",)):
                self.take("dates")
                day = self.column(scope, ("date",))
                return f"{day} + INTERVAL 1 MONTH > DATE '2026-02-10' OR dayname({day}) = 'Monday'"
        return f"{numeric} > {self.draw(st.integers(-1, 4))}" if numeric else "1 = 1"

    def where(self, scope, percent=35):
        if not self.chance(percent):
            return ""
        self.take("WHERE")
        person = self.column(scope, ("person",))
        if person and self.chance(25):
            return f" WHERE {self.about_people(person)}"
        return f" WHERE {self.condition(scope)}"

    def about_people(self, person):
        """A condition on the person; the tables of its subquery are plain."""
        self.take("people of a subquery")
        table, alias = self.one(["visits", "labs"]), self.name("t")
        inner = {f"{alias}.{name}": kind for name, kind in TABLES[table].items()}
        condition = self.condition(inner)
        negated = self.one(["", "", "NOT "])
        match self.draw(st.integers(0, 2)):
            case 0:
                self.take("EXISTS")
                where = f"{alias}.patient = {person} AND ({condition})"
                return f"{negated}EXISTS (SELECT 1 FROM {table} AS {alias} WHERE {where})"
            case 1:
                group = f"GROUP BY {alias}.patient HAVING count(*) > {self.draw(st.integers(0, 2))}"
                return f"{person} {negated}IN (SELECT {alias}.patient FROM {table} AS {alias} {group})"
        return f"{person} {negated}IN (SELECT {alias}.patient FROM {table} AS {alias} WHERE {condition})"

    # FROM

    def item(self, depth):
        """Something with a column patient."""
        kind = self.draw(st.integers(0, 11)) if depth else 0
        if kind >= 10 and self.ctes:
            self.take("CTE used again")
            return self.one(self.ctes.values())
        if kind in (6, 7):
            return self.rows(depth - 1)
        if kind in (3, 4, 5):
            return self.per_person(depth - 1)
        if kind in (8, 9):
            return self.union(depth - 1)
        table = self.one(["visits", "visits", "labs"])
        self.take(table)
        return Item(table, TABLES[table])

    def source(self, depth):
        """A FROM with its joins: the text, and the columns of it."""
        first = self.item(depth)
        alias = self.name("t")
        sql = f"{first.sql} AS {alias}"
        scope = {f"{alias}.{name}": kind for name, kind in first.columns.items()}
        for _ in range(self.one([0, 0, 1, 1, 2] if depth else [0, 0, 0, 1])):
            sql, scope = self.joined(sql, scope, depth)
        return sql, scope

    def joined(self, sql, scope, depth):
        ward = next((c for c in scope if c.endswith(".ward")), None)
        left = self.chance(30)
        alias = self.name("t")
        if ward and self.chance(60):
            self.take("lookup")
            on = f"{ward} = {alias}.ward"
            integer = self.column(scope, ("integer",))
            if integer and self.chance(20):
                on += f" AND {integer} = {alias}.beds"
            other, columns = "wards", WARDS
        else:
            self.take("join of people")
            item = self.item(depth - 1 if depth else 0)
            other, columns = item.sql, item.columns
            person = self.column(scope, ("person",))
            on = f"{person} = {alias}.patient" if self.chance(50) else f"{alias}.patient = {person}"
            for name, kind in columns.items():
                mine = self.column(scope, (kind,)) if kind in ("text", "keyed", "integer") else None
                if mine and self.chance(15):
                    self.take("join of people on more")
                    on += f" AND {mine} = {alias}.{name}"
                elif mine and kind == "integer" and not left and self.chance(10):
                    on += f" AND {mine} < {alias}.{name}"
        if left:
            self.take("LEFT JOIN")
        added = {f"{alias}.{name}": kind for name, kind in columns.items()}
        if left:  # the id of an absent row is not the person's
            added = {name: "absent" if kind == "person" else kind for name, kind in added.items()}
        join = "LEFT JOIN" if left else "JOIN"
        return f"{sql} {join} {other} AS {alias} ON {on}", scope | added

    def rows(self, depth):
        self.take("subquery of rows")
        sql, scope = self.source(depth)
        columns, items = {}, []
        for text, kind in scope.items():
            if kind == "person" and "patient" not in columns:
                columns["patient"] = kind
                items.append(f"{text} AS patient")
            elif kind not in ("person", "absent", "beds") and self.chance(70):
                name = "ward" if text.endswith(".ward") and "ward" not in columns else self.name("c")
                columns[name] = kind
                items.append(f"{text} AS {name}")
        if self.chance(40):
            name = self.name("c")
            items.append(f"{self.number(scope)} AS {name}")
            columns[name] = "value" if "value" in scope.values() else "number"
        return Item(f"(SELECT {', '.join(items)} FROM {sql}{self.where(scope)})", columns)

    def per_person(self, depth):
        self.take("per person")
        sql, scope = self.source(depth)
        person = self.column(scope, ("person",))
        columns, items, group = {"patient": "person"}, [f"{person} AS patient"], [person]
        key = self.column(scope, ("keyed", "text", "integer"))
        if key and self.chance(35):
            self.take("per person and key")
            name = "ward" if key.endswith(".ward") else self.name("c")
            columns[name] = scope[key]
            items.append(f"{key} AS {name}")
            group.append(key)
        for _ in range(self.draw(st.integers(0, 2))):
            name = self.name("n")
            aggregate, columns[name] = self.personal(scope)
            items.append(f"{aggregate} AS {name}")
        having = ""
        if self.chance(35):
            self.take("HAVING of people")
            having = f" HAVING {self.personal(scope, numbers=True)[0]} > {self.draw(st.integers(0, 2))}"
        return Item(
            f"(SELECT {', '.join(items)} FROM {sql}{self.where(scope)} GROUP BY {', '.join(group)}{having})",
            columns,
        )

    def personal(self, scope, *, numbers=False):
        """An aggregate over the rows of one person, and its kind."""
        numeric = self.column(scope, ("number", "integer"))
        text = self.column(scope, ("text", "keyed"))
        match self.draw(st.integers(0, 7)):
            case 0 if text:
                return f"count(DISTINCT {text})", "value"
            case 1 if text and not numbers:
                return f"{self.one(['min', 'max'])}({text})", "text"
            case 2 if numeric:
                return f"sum({numeric})", "value"
            case 3 if numeric:
                return f"avg({numeric})", "number"
            case 4 if numeric:
                return f"{self.one(['min', 'max'])}({numeric})", scope[numeric]
            case 5:
                return f"count(*) FILTER (WHERE {self.condition(scope)})", "value"
        return "count(*)", "value"

    def union(self, depth):
        self.take("UNION ALL")
        sides = []
        for _ in range(2):
            item = self.item(depth)
            alias = self.name("t")
            scope = {f"{alias}.{name}": kind for name, kind in item.columns.items()}
            number = self.column(scope, ("number", "integer")) or "1"
            text = self.column(scope, ("keyed", "text")) or "'a'"
            kind = scope.get(text, "text")
            sql = f"SELECT {alias}.patient AS patient, {number} AS x, {text} AS y FROM {item.sql} AS {alias}"
            sides.append((sql + self.where(scope), kind))
        kinds = {kind for _, kind in sides}
        columns = {"patient": "person", "x": "number", "y": "keyed" if kinds == {"keyed"} else "text"}
        return Item(f"({sides[0][0]} UNION ALL {sides[1][0]})", columns)

    # The question itself

    def key(self, scope):
        """Something to group by."""
        kinds = ("keyed", "keyed", "text", "date") if self.private else ("keyed",)
        match self.draw(st.integers(0, 9)):
            case 0 if any(kind == "integer" for kind in scope.values()):
                return f"floor({self.column(scope, ('integer',))} / 4)"
            case 1:
                return f"({self.condition(scope)})"
            case 2 if self.private and self.column(scope, ("text",)):
                return f"left({self.column(scope, ('text',))}, 1)"
            case 3 if any(kind == "beds" for kind in scope.values()):
                return self.column(scope, ("beds",))
            case 4:
                return f"CASE WHEN {self.condition(scope)} THEN 'yes' ELSE 'no' END"
            case 6 | 8 if self.column(scope, ("date",)):
                self.take("days as keys")
                day = self.column(scope, ("date",))
                return self.one(
                    [f"dayname({day})", f"month({day})", f"week({day})", f"strftime({day}, '%A')"]
                )
            case 7 | 9 if self.column(scope, ("number",)) and self.chance(80):
                self.take("bins")
                return f"width_bucket({self.column(scope, ('number',))}, -1, 3, 4)"
            case 5 if any(kind == "value" for kind in scope.values()):
                return f"CAST({self.column(scope, ('value',))} >= 2 AS BIGINT)"
        return self.column(scope, kinds) or f"({self.condition(scope)})"

    def measure(self, scope):
        match self.draw(st.integers(0, 11)):
            case 0 | 1:
                self.take("count people")
                found = f"count(DISTINCT {self.column(scope, ('person',))})"
            case 2 | 9 if self.column(scope, ("text", "keyed", "integer", "absent")):
                self.take("count other")
                found = f"count(DISTINCT {self.column(scope, ('text', 'keyed', 'integer', 'absent'))})"
            case 3 | 4:
                self.take("sum")
                found = f"sum({self.number(scope)})"
            case 5:
                self.take("avg")
                found = f"avg({self.number(scope)})"
            case 6:
                self.take("variance")
                found = f"var_pop({self.number(scope)})"
            case 7:
                self.take("quantile")
                found = self.one(["median({})", "quantile_cont({}, 0.9)", "min({})", "max({})"])
                found = found.format(self.number(scope))
            case 11:
                self.take("pairs of numbers")
                form = self.one(["covar_pop({}, {})", "corr({}, {})", "regr_slope({}, {})"])
                found = form.format(self.number(scope), self.number(scope))
            case 8:
                found = f"count({self.column(scope, NUMERIC) or '*'})"
            case 10:
                self.take("count_if")
                found = f"count_if({self.condition(scope)})"
            case _:
                self.take("count")
                found = "count(*)"
        if self.chance(25):
            self.take("FILTER")
            found += f" FILTER (WHERE {self.condition(scope)})"
        return found

    def question(self):
        for _ in range(self.one([0, 0, 1])):
            self.take("WITH")
            item = self.one([self.rows, self.per_person])(1)
            name = self.name("w")
            self.ctes[name] = Item(name, item.columns)
            self.ctes[name + "!"] = Item(f"{name} AS MATERIALIZED {item.sql}", {})
        definitions = [self.ctes.pop(name).sql for name in list(self.ctes) if name.endswith("!")]
        prefix = (
            f"WITH {', '.join(d.replace(' MATERIALIZED', '') for d in definitions)} " if definitions else ""
        )
        sql, scope = self.source(2)
        where = self.where(scope)
        keys = list(dict.fromkeys(self.key(scope) for _ in range(self.one([0, 1, 1, 1, 2]))))
        names = [f"k{i}" for i in range(len(keys))]
        selected = [f"{key} AS {name}" for key, name in zip(keys, names, strict=True)]
        group, sets = self.group(names)
        if keys and not self.private and self.chance(25) and not sets:
            self.take("selection")
            order = self.one(["count(*)", f"count(DISTINCT {self.column(scope, ('person',))})"])
            tail = f" ORDER BY {order}{self.one([' DESC', ''])} LIMIT {self.one([1, 2])}"
            text = f"{prefix}SELECT {', '.join(selected)} FROM {sql}{where}{group}{tail}"
            return self.made(text, names, [], exact=False)
        measures = [self.measure(scope) for _ in range(self.draw(st.integers(1, 3)))]
        aliases = [f"m{i}" for i in range(len(measures))]
        selected += [f"{measure} AS {alias}" for measure, alias in zip(measures, aliases, strict=True)]
        text = f"{prefix}SELECT {', '.join(selected)} FROM {sql}{where}{group}"
        doubtful = {"quantile", "bins", "pairs of numbers", "days between"} | (
            {"LEFT JOIN"} if sets else set()
        )
        return self.made(text, names, aliases, exact=not doubtful & self.shapes)

    def group(self, names):
        """GROUP BY, and whether it has several sets."""
        if not names:
            return "", False
        listed = ", ".join(names)
        if not self.private and self.chance(30):
            self.take("grouping sets")
            kind = self.one(["ROLLUP", "CUBE", "GROUPING SETS"])
            inner = f"({listed}), ({names[-1]}), ()" if kind == "GROUPING SETS" else listed
            return f" GROUP BY {kind} ({inner})", True
        return f" GROUP BY {listed}", False

    def made(self, sql, keys, measures, *, exact):
        if self.private:
            self.take("private keys possible")
        return Question(
            sql=sql,
            keys=tuple(keys),
            measures=tuple(measures),
            private=self.private,
            exact=exact,
            shapes=frozenset(self.shapes),
        )


@st.composite
def questions(draw):
    return Drawing(draw, private=draw(st.booleans())).question()
