"""Every way to put together a question of any length. `bench/planning.py` makes long ones of them."""

import re


def chain(pattern, number, by=" AND "):
    return by.join(pattern.format(i=i, j=i + 1) for i in range(number))


def nested(pattern, number, innermost="a.age"):
    for _ in range(number):
        inside = innermost if innermost.startswith("(") else f"({innermost})"
        innermost = re.sub(r"\bX\b", lambda _, inside=inside: inside, pattern)
    return innermost


ROWS = "SELECT count(*) AS n FROM visits AS a WHERE "
AGES = "(SELECT patient, {} FROM visits GROUP BY patient) AS a"
PEOPLE = "(SELECT patient, max(age) AS m FROM visits GROUP BY patient)"
SAME = "(SELECT patient, {} FROM visits UNION ALL SELECT patient, {} FROM visits) AS a"
REPEATED = {
    "equal values": lambda n: ROWS + chain("a.age + {i} = a.age + {j}", n),
    "equal values in other words": lambda n: ROWS + chain("NOT (a.age + {i} <> a.age + {j})", n),
    "equal values within OR": lambda n: ROWS + f"({chain('a.age + {i} = a.age + {j}', n)}) OR FALSE",
    "equal truth values": lambda n: ROWS + chain("(a.age > {i}) = (a.age > {j})", n),
    "equal values that are never NULL": lambda n: (
        ROWS + chain("a.age + {i} IS NOT DISTINCT FROM a.age + {j}", n)
    ),
    "growing values": lambda n: ROWS + chain("a.age + {i} < a.age + {j} AND a.age + {i} > {i}", n),
    "values between each other": lambda n: ROWS + chain("a.age BETWEEN a.age - {i} AND a.age + {j}", n),
    "equal columns of a union": lambda n: (
        "SELECT count(*) AS n FROM "
        + SAME.replace("{}", chain("age AS c{i}", n + 1, ", "))
        + " WHERE "
        + chain("c{i} = c{j}", n)
    ),
    "equal values of people": lambda n: (
        "SELECT count(*) AS n FROM "
        + AGES.format(chain("max(age + {i}) AS c{i}", n + 1, ", "))
        + " WHERE "
        + chain("c{i} = c{j}", n)
    ),
    "HAVING in a subquery": lambda n: (
        "SELECT count(*) AS n FROM (SELECT patient FROM visits GROUP BY patient"
        f" HAVING {chain('max(age) + {i} = max(age) + {j}', n)}) AS t"
    ),
    "a count of some people": lambda n: (
        "SELECT count(DISTINCT a.patient)"
        f" FILTER (WHERE {chain('a.age + {i} = a.age + {j}', n)}) AS n FROM visits AS a"
    ),
    "what people are joined on": lambda n: (
        "SELECT count(*) AS n FROM visits AS a JOIN visits AS b ON"
        f" a.patient = b.patient AND {chain('a.age + {i} = b.age', n)}"
    ),
    "what EXISTS compares": lambda n: (
        ROWS
        + "EXISTS (SELECT 1 FROM visits AS t WHERE t.patient = a.patient"
        + f" AND {chain('t.age + {i} = a.age', n)})"
    ),
    "what a public table is joined on": lambda n: (
        "SELECT count(*) AS n FROM visits AS a JOIN wards AS w ON"
        f" a.ward = w.ward AND {chain('a.age + {i} = w.beds', n)}"
    ),
    "cases": lambda n: (
        f"SELECT CASE {chain('WHEN age = {i} THEN {i}', n, ' ')} END AS k, count(*) AS n"
        " FROM visits GROUP BY 1"
    ),
    "alternatives": lambda n: ROWS + chain("(a.age > {i} AND a.cost > {j})", n, " OR "),
    "measures": lambda n: (
        "SELECT " + chain("sum(age + {i}) FILTER (WHERE cost > {i}) AS s{i}", n, ", ") + " FROM visits"
    ),
    "NOT": lambda n: ROWS + nested("NOT (X OR a.age > 1)", n, "a.age = 1"),
    "CASE": lambda n: ROWS + nested("CASE WHEN a.cost > 1 THEN X - 1 ELSE 0 END", n) + " > 1",
    "coalesce": lambda n: ROWS + nested("coalesce(nullif(X, 1), 7)", n) + " > 1",
    "least": lambda n: ROWS + nested("least(greatest(X, 1), a.age)", n) + " > 1",
    "BETWEEN": lambda n: ROWS + nested("CAST(X BETWEEN 0 AND 1 AS INTEGER)", n) + " > 1",
    "IN a list": lambda n: ROWS + nested("CAST(X IN (0, 1) AS INTEGER)", n) + " > 1",
    "casts": lambda n: ROWS + nested("CAST(CAST(X AS TEXT) AS INTEGER)", n) + " > 1",
    "quotients": lambda n: ROWS + nested("round(a.cost / X, 1)", n) + " > 1",
    "equal values in a list": lambda n: ROWS + chain("a.age + {i} IN ({i}, {j})", n),
    "texts that are equal": lambda n: ROWS + chain("a.ward || '{i}' = a.diagnosis || '{j}'", n),
    "ON of public tables": lambda n: (
        "SELECT count(*) AS n FROM visits AS a "
        + chain("JOIN wards AS w{i} ON a.ward = w{i}.ward", min(n, 15), " ")
        + " WHERE "
        + chain("w{i}.beds + {i} = a.age", min(n, 15))
    ),
    "LEFT JOIN of public tables": lambda n: (
        "SELECT count(*) AS n FROM visits AS a "
        + chain("LEFT JOIN wards AS w{i} ON a.ward = w{i}.ward", min(n, 15), " ")
        + " WHERE "
        + chain("coalesce(w{i}.beds, 1) > a.age", min(n, 15))
    ),
    "EXISTS": lambda n: (
        ROWS
        + chain(
            "EXISTS (SELECT 1 FROM visits AS t WHERE t.patient = a.patient AND t.age > a.age + {i})",
            min(n, 12),
        )
    ),
    "IN": lambda n: (
        ROWS + chain("a.patient IN (SELECT patient FROM visits WHERE age > {i})", min(n, 12), " OR ")
    ),
    "subqueries of people": lambda n: (
        "SELECT count(*) AS n FROM "
        + nested("(SELECT patient, max(m + 1) AS m FROM X AS t GROUP BY patient)", min(n, 12), PEOPLE)
        + " AS t WHERE m > 1"
    ),
    "unions": lambda n: (
        "SELECT count(*) AS n FROM ("
        + chain("SELECT patient, age FROM visits WHERE age > {i}", min(n, 30), " UNION ALL ")
        + ") AS t WHERE age > 3"
    ),
    "subqueries": lambda n: (
        "SELECT count(*) AS n FROM "
        + nested("(SELECT patient, m + 1 AS m FROM X AS t WHERE m > 1)", min(n, 20), PEOPLE)
        + " AS t WHERE m > 1"
    ),
    "different values": lambda n: (
        "SELECT " + chain("count(DISTINCT age + {i}) AS d{i}", n, ", ") + " FROM visits"
    ),
    "quantiles": lambda n: "SELECT " + chain("quantile(cost + {i}, 0.5) AS q{i}", n, ", ") + " FROM visits",
    "grouping sets": lambda n: (
        "SELECT count(*) AS n FROM visits GROUP BY GROUPING SETS ("
        + chain("((age > {i}))", min(n, 30), ", ")
        + ")"
    ),
    "columns of VALUES": lambda n: (
        "SELECT count(*) AS n FROM visits AS a JOIN (VALUES "
        + chain("({i}, {j})", min(n, 90), ", ")
        + ") AS v(x, y) ON a.age = v.x WHERE v.y > 1"
    ),
    "intersections": lambda n: (
        "SELECT count(*) AS n FROM ("
        + nested("SELECT patient FROM visits INTERSECT X", min(n, 12), "SELECT patient FROM visits")
        + ") AS t"
    ),
    "values of the outputs": lambda n: (
        "SELECT "
        + chain("CASE WHEN count(*) > {i} THEN sum(age) ELSE avg(cost) END AS w{i}", n, ", ")
        + " FROM visits"
    ),
}
"""By what is repeated: a question with so many."""
