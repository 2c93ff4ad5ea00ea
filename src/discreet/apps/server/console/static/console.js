// The console in a browser: explain while typing, three controls that move together, completion, asking,
// and adding up numbers. Every number about privacy comes from the server; this file only shows it.
"use strict";

const find = (id) => document.getElementById(id);
const csrf = () => document.querySelector('meta[name="csrf-token"]').content;
const WAIT = 250;
const APPROVALS = {
  none: "", needed: "", waiting: "It waits for the owner.", approved: "The owner approved it.",
  denied: "The owner denied it. You can send it again with another purpose.",
};

async function post(path, body) {
  const headers = { "Content-Type": "application/json", "X-CSRF-Token": csrf() };
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  const found = await response.json();
  if (response.status === 401) location.reload();
  return found;
}

function short(number) {
  if (!Number.isFinite(number)) return "";
  const digits = number !== 0 && Math.abs(number) < 1000 ? 3 : 4;
  return String(Number(number.toPrecision(digits)));
}

function make(name, text, attributes = {}) {
  const namespace = "http://www.w3.org/2000/svg";
  const svg = ["circle", "line", "rect"].includes(name);
  const found = svg ? document.createElementNS(namespace, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
  if (text) found.textContent = text;
  return found;
}

// Three controls: price, error and risk. The one that was moved last sets the other two.

const controls = ["epsilon", "within", "suspicion"];
const state = { by: "epsilon", value: 0, found: null, asked: 0, timer: 0 };

function range(name) {
  const { epsilon, most_epsilon: most, error } = state.found;
  const top = Math.max(most, epsilon);
  const least = top / 1000;
  if (name === "epsilon") return [least, top];
  if (name === "within") return error ? [(error.each * epsilon) / top, (error.each * epsilon) / least] : null;
  return [50 + 49.99 / 1000, Math.max(state.found.suspicion, 100 / (1 + Math.exp(-top)))];
}

const share = (value, [low, high]) => Math.log(value / low) / Math.log(high / low);
const valueAt = (part, [low, high]) => low * (high / low) ** part;
const oddsShare = (value, [low, high]) => share(value - 50, [low - 50, high - 50]);
const oddsAt = (part, [low, high]) => 50 + valueAt(part, [low - 50, high - 50]);

function placeSlider(name, value) {
  const slider = find(`${name}-slide`);
  const ends = range(name);
  slider.disabled = !ends;
  if (!ends) return;
  const part = name === "suspicion" ? oddsShare(value, ends) : share(value, ends);
  slider.value = Math.round(1000 * Math.min(1, Math.max(0, part)));
  slider.setAttribute("aria-valuetext", short(value));
}

function setTerms(by, value) {
  state.by = by;
  state.value = value;
  find("ask").elements.by.value = by;
  find("ask").elements.value.value = value;
}

function showControls() {
  const { epsilon, error, suspicion } = state.found;
  const values = { epsilon, within: error ? error.each : NaN, suspicion };
  for (const name of controls) {
    const input = find(name);
    input.disabled = !Number.isFinite(values[name]);
    if (document.activeElement !== input) input.value = short(values[name]);
    if (document.activeElement !== find(`${name}-slide`) || state.by !== name) placeSlider(name, values[name]);
  }
  drawOdds(suspicion);
}

function drawOdds(suspicion) {
  const picture = find("odds");
  if (!picture.childElementCount) {
    for (let i = 0; i < 100; i++) {
      picture.append(make("circle", "", { cx: 5 + 10 * (i % 20), cy: 5 + 10 * Math.floor(i / 20), r: 3.6 }));
    }
  }
  [...picture.children].forEach((dot, i) => {
    dot.setAttribute("class", i < 50 ? "even" : i < suspicion ? "risen" : "free");
  });
}

function bindControls() {
  for (const name of controls) {
    const changed = (value) => {
      if (!(value > 0)) return;
      setTerms(name, value);
      explainSoon();
    };
    find(name).addEventListener("input", (event) => changed(Number(event.target.value)));
    find(`${name}-slide`).addEventListener("input", (event) => {
      const ends = state.found && range(name);
      if (!ends) return;
      const part = event.target.value / 1000;
      const value = Number(short(name === "suspicion" ? oddsAt(part, ends) : valueAt(part, ends)));
      find(name).value = short(value);
      event.target.setAttribute("aria-valuetext", short(value));
      changed(value);
    });
  }
}

// Explain while typing.

function explainSoon() {
  clearTimeout(state.timer);
  state.timer = setTimeout(explain, WAIT);
}

async function explain() {
  const sql = find("sql").value;
  const number = ++state.asked;
  if (!sql.trim()) return showNothing();
  const body = { dataset: find("ask").elements.dataset.value, sql, by: state.by, value: state.value };
  let found;
  try {
    found = await post("/console/explain", body);
  } catch {
    found = { problem: "The service cannot be reached.", remedy: "Try again." };
  }
  if (number !== state.asked) return; // somebody typed on
  if (found.problem) showRefusal(found);
  else showExplanation(found);
}

function showNothing() {
  find("refused").hidden = true;
  find("explained").hidden = true;
  find("go").disabled = true;
}

function showRefusal(found) {
  find("refused").textContent = `${found.problem} ${found.remedy}`;
  find("refused").hidden = false;
  find("explained").hidden = true;
  find("go").disabled = true;
}

function showExplanation(found) {
  state.found = found;
  find("refused").hidden = true;
  find("explained").hidden = false;
  find("go").disabled = false;
  const { approval } = found;
  const unsent = approval === "needed" || approval === "denied";
  find("go").textContent = unsent ? "Send to the owner" : `Ask for ε ${short(found.epsilon)}`;
  find("go").disabled = approval === "waiting";
  find("state").textContent = APPROVALS[approval];
  find("price-text").textContent = found.price_text;
  find("error-text").textContent = found.error_text;
  find("risk-text").textContent = found.risk_text;
  find("purpose-part").hidden = !unsent;
  find("groups-text").textContent = found.groups_text;
  find("groups-text").hidden = !found.groups_text;
  const lines = [...found.other_errors, ...found.notes, ...found.alternatives];
  find("notes").replaceChildren(...lines.map((line) => make("li", line)));
  find("notes").parentElement.hidden = !lines.length;
  showControls();
  drawOutcomes(true);
}

// Twenty possible answers around a number that is made up.

function uniform() {
  return (crypto.getRandomValues(new Uint32Array(1))[0] + 0.5) / 2 ** 32;
}

function noise(kind, reach) {
  if (kind.endsWith("Gaussian")) {
    return (reach / 1.96) * Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
  }
  return (reach / Math.log(20)) * -Math.log(uniform()) * (uniform() < 0.5 ? -1 : 1);
}

function drawOutcomes(fresh) {
  const { error, noise: kind } = state.found;
  const part = find("outcomes");
  part.hidden = !error || !kind.startsWith("discrete");
  if (part.hidden) return;
  const truth = find("truth");
  const reach = error.each;
  if (fresh && document.activeElement !== truth && !truth.dataset.own) {
    truth.value = Number((reach * 8).toPrecision(1));
  }
  const middle = Number(truth.value);
  const x = (value) => 320 + (320 * (value - middle)) / (reach * 2);
  const marks = [
    make("rect", "", { x: x(middle - reach), y: 8, width: x(middle + reach) - x(middle - reach), height: 48, class: "band" }),
    make("line", "", { x1: 320, x2: 320, y1: 2, y2: 62, class: "truth" }),
  ];
  for (let i = 0; i < 20; i++) {
    const at = Math.min(634, Math.max(6, x(middle + noise(kind, reach))));
    marks.push(make("line", "", { x1: at, x2: at, y1: 16, y2: 48, class: "outcome" }));
  }
  find("outcomes-picture").replaceChildren(...marks);
  const off = middle ? ` (± ${short((100 * reach) / Math.abs(middle))} %)` : "";
  find("outcomes-picture").setAttribute("aria-label", `Nineteen of twenty answers are within ± ${short(reach)}${off}`);
  find("outcome-low").textContent = (middle - reach * 2).toLocaleString("en", { maximumSignificantDigits: 3 });
  find("outcome-high").textContent = (middle + reach * 2).toLocaleString("en", { maximumSignificantDigits: 3 });
}

// Completion, as an ARIA combobox. Tab always leaves the editor.

const completion = { words: [], shown: [], chosen: -1, start: 0 };

function wordBefore(editor) {
  return /[\p{L}_"][\p{L}\p{N}_"]*$/u.exec(editor.value.slice(0, editor.selectionStart));
}

function openCompletion(editor) {
  const found = wordBefore(editor);
  const typed = found ? found[0].toLowerCase().replaceAll('"', "") : "";
  const matches = ({ word }) => word.toLowerCase().replaceAll('"', "").startsWith(typed) && word.toLowerCase() !== typed;
  completion.shown = typed ? completion.words.filter(matches).slice(0, 7) : [];
  completion.start = found ? found.index : 0;
  completion.chosen = -1;
  const list = find("completions");
  list.replaceChildren(...completion.shown.map(({ word, kind }, i) => {
    const item = make("li", word, { role: "option", id: `completion-${i}`, "aria-selected": "false" });
    if (kind) item.append(make("span", kind));
    item.addEventListener("mousedown", (event) => {
      event.preventDefault();
      complete(editor, i);
    });
    return item;
  }));
  list.hidden = !completion.shown.length;
  editor.setAttribute("aria-expanded", String(!list.hidden));
  editor.removeAttribute("aria-activedescendant");
  if (!list.hidden) placeList(editor, list);
}

function placeList(editor, list) {
  const before = editor.value.slice(0, completion.start).split("\n");
  const style = getComputedStyle(editor);
  const context = (placeList.canvas ??= document.createElement("canvas")).getContext("2d");
  context.font = `${style.fontSize} ${style.fontFamily}`;
  const left = parseFloat(style.paddingLeft) + context.measureText(before.at(-1)).width - editor.scrollLeft;
  const top = parseFloat(style.paddingTop) + before.length * parseFloat(style.lineHeight) - editor.scrollTop;
  list.style.left = `${Math.max(0, Math.min(left, editor.clientWidth - list.offsetWidth))}px`;
  list.style.top = `${Math.min(top, editor.clientHeight) + 4}px`;
}

function closeCompletion(editor) {
  find("completions").hidden = true;
  editor.setAttribute("aria-expanded", "false");
  editor.removeAttribute("aria-activedescendant");
}

function complete(editor, i) {
  const { word, kind } = completion.shown[i];
  const text = kind === "function" || kind === "aggregate" ? `${word}(` : word;
  editor.setRangeText(text, completion.start, editor.selectionStart, "end");
  closeCompletion(editor);
  explainSoon();
}

function choose(editor, step) {
  const count = completion.shown.length;
  completion.chosen = (completion.chosen + step + count + (completion.chosen < 0 && step < 0 ? 1 : 0)) % count;
  [...find("completions").children].forEach((item, i) => {
    item.setAttribute("aria-selected", String(i === completion.chosen));
  });
  editor.setAttribute("aria-activedescendant", `completion-${completion.chosen}`);
}

function bindEditor(form) {
  const editor = find("sql");
  completion.words = JSON.parse(form.getAttribute("data-words"));
  editor.addEventListener("input", () => {
    openCompletion(editor);
    explainSoon();
  });
  editor.addEventListener("blur", () => closeCompletion(editor));
  editor.addEventListener("keydown", (event) => {
    const open = !find("completions").hidden;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      if (!find("go").disabled) form.requestSubmit();
    } else if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      openCompletion(editor);
    } else if (open && event.key === "Escape") {
      closeCompletion(editor);
    } else if (open && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      choose(editor, event.key === "ArrowDown" ? 1 : -1);
    } else if (open && event.key === "Enter" && completion.chosen >= 0) {
      event.preventDefault();
      complete(editor, completion.chosen);
    }
  });
  for (const chip of document.querySelectorAll(".chip")) {
    chip.addEventListener("click", () => setQuestion(chip.dataset.sql));
  }
}

function setQuestion(sql) {
  find("sql").value = sql;
  closeCompletion(find("sql"));
  explain();
}

// Asking.

async function ask(form) {
  const go = find("go");
  go.disabled = true;
  find("state").textContent = "Asking …";
  const body = new URLSearchParams(new FormData(form));
  try {
    const response = await fetch(form.action, { method: "POST", headers: { "X-Piece": "answer" }, body });
    if (response.status === 401) location.reload();
    const left = Number(response.headers.get("X-Left"));
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    find("answer").replaceChildren(...page.body.childNodes);
    if (response.headers.has("X-Left")) {
      find("left").textContent = `ε ${short(left)}`;
      find("left-bar").value = left;
    }
    bindAnswer(find("answer"));
    find("answer").focus({ preventScroll: true });
    find("answer").scrollIntoView({ block: "nearest" });
    find("state").textContent = "";
    await explain();
  } catch {
    find("state").textContent = "The service cannot be reached. What was paid is in your history.";
    go.disabled = false;
  }
}

// Numbers of an answer: their sum, difference and ratio.

function bindAnswer(part) {
  for (const cell of part.querySelectorAll("button.cell")) {
    cell.addEventListener("click", () => {
      cell.setAttribute("aria-pressed", String(cell.getAttribute("aria-pressed") !== "true"));
      combine(cell.closest(".answer"));
    });
  }
  const form = find("ask");
  for (const link of form ? part.querySelectorAll("a[data-by]") : []) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      setTerms(link.dataset.by, Number(link.dataset.value));
      find("epsilon").focus();
      find("epsilon").value = link.dataset.value;
      explain();
    });
  }
}

async function combine(answer) {
  const chosen = [...answer.querySelectorAll('button.cell[aria-pressed="true"]')];
  const shown = answer.querySelector(".combined");
  shown.hidden = chosen.length < 2;
  if (shown.hidden) return;
  const cells = chosen.map((cell) => [Number(cell.dataset.row), cell.dataset.column]);
  const body = { dataset: answer.dataset.dataset, receipt: Number(answer.dataset.receipt), cells };
  const found = await post("/console/combine", body);
  if (found.problem) return shown.replaceChildren(make("p", `${found.problem} ${found.remedy}`));
  const list = make("dl", "", { class: "results" });
  for (const { name, value, error } of found.results) {
    const part = make("div");
    const number = make("dd");
    number.append(make("b", value), ` ${error}`);
    part.append(make("dt", name), number);
    list.append(part);
  }
  shown.replaceChildren(list, make("p", found.how, { class: "hint" }));
}

// A question without SQL.

const quoted = (name) => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`);
const literal = (key) => (typeof key === "string" ? `'${key.replaceAll("'", "''")}'` : String(key));

function fill(select, options) {
  select.replaceChildren(...options.map(([value, text]) => make("option", text, { value })));
}

function bindBuilder(form) {
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

const form = find("ask");
if (form) {
  setTerms(form.elements.by.value, Number(form.elements.value.value));
  bindControls();
  bindEditor(form);
  bindBuilder(form);
  find("truth").addEventListener("input", (event) => {
    event.target.dataset.own = "yes";
    drawOutcomes(false);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask(form);
  });
  drawOdds(50);
  explain();
}
bindAnswer(document);
