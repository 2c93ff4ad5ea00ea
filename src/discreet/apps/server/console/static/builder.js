// A question without SQL.
import { setQuestion } from "./editor.js";
import { find, make } from "./page.js";

const quoted = (name) => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`);
const literal = (key) => (typeof key === "string" ? `'${key.replaceAll("'", "''")}'` : String(key));

function fill(select, options) {
  select.replaceChildren(...options.map(([value, text]) => make("option", text, { value })));
}

export function bindBuilder(form) {
  const tables = JSON.parse(form.getAttribute("data-policy")).tables.filter((table) => !table.public);
  if (!tables.length) return;
  const [table, measure, group, column, value] = ["table", "measure", "group", "column", "value"].map((name) => find(`build-${name}`));
  const chosen = () => tables[table.value];
  const keyed = () => chosen().columns.filter((each) => each.keys);
  const bounded = () => chosen().columns.filter((each) => each.bounds);
  const columns = () => {
    const { person } = chosen();
    const people = person === "row" ? [] : [[`count(DISTINCT ${quoted(person)}) AS people`, "number of people"]];
    const numbers = bounded().flatMap(({ name }) => [
      [`avg(${quoted(name)}) AS average`, `average ${name}`],
      [`sum(${quoted(name)}) AS total`, `sum of ${name}`],
      [`median(${quoted(name)}) AS median`, `median ${name}`],
    ]);
    fill(measure, [["count(*) AS n", "number of rows"], ...people, ...numbers]);
    const bands = bounded().filter(({ bounds }) => bounds[1] - bounds[0] <= 1000);
    fill(group, [["", "everybody together"], ...keyed().map(({ name }) => [quoted(name), name]),
      ...bands.map(({ name }) => [`floor(${quoted(name)} / 10) * 10`, `${name}, in tens`])]);
    fill(column, [["", "no condition"], ...keyed().map(({ name }, i) => [i, name])]);
    values();
  };
  const values = () => {
    find("build-value-label").hidden = !column.value;
    if (column.value) fill(value, keyed()[column.value].keys.map((key) => [literal(key), String(key)]));
  };
  const write = () => {
    const alias = group.value.startsWith("floor(") ? `${group.value} AS band` : group.value;
    const by = group.value.startsWith("floor(") ? "band" : group.value;
    const lines = [`SELECT ${alias ? `${alias}, ` : ""}${measure.value}`, `FROM ${quoted(chosen().name)}`];
    if (column.value) lines.push(`WHERE ${quoted(keyed()[column.value].name)} = ${value.value}`);
    if (by) lines.push(`GROUP BY ${by}`);
    setQuestion(lines.join("\n"));
  };
  fill(table, tables.map(({ name }, i) => [i, name]));
  columns();
  table.addEventListener("change", columns);
  column.addEventListener("change", values);
  for (const select of [table, measure, group, column, value]) select.addEventListener("change", write);
  find("builder").hidden = false;
}
