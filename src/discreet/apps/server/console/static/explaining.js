// Explain while typing. Every number about privacy comes from the service; this only shows it.
import { drawOutcomes } from "./outcomes.js";
import { find, make, post, short } from "./page.js";
import { showControls, terms } from "./terms.js";

const WAIT = 250;
const APPROVALS = {
  none: "", needed: "", waiting: "It waits for the owner.", approved: "The owner approved it.",
  denied: "The owner denied it. You can send it again with another purpose.",
};
const asked = { number: 0, timer: 0 };

export function explainSoon() {
  clearTimeout(asked.timer);
  asked.timer = setTimeout(explain, WAIT);
}

export async function explain() {
  const sql = find("sql").value;
  const number = ++asked.number;
  if (!sql.trim()) return showNothing();
  const body = { dataset: find("ask").elements.dataset.value, sql, by: terms.by, value: terms.value };
  const found = await post("/console/explain", body);
  if (number !== asked.number) return; // somebody typed on
  if (found.problem) showRefusal(found);
  else showExplanation(found);
}

// What was said of another question must not stay.
function showNothing() {
  for (const part of ["refused", "explained", "purpose-part"]) find(part).hidden = true;
  for (const text of ["price-text", "error-text", "state"]) find(text).textContent = "";
  find("go").textContent = "Ask";
  find("go").disabled = true;
}

function showRefusal(found) {
  showNothing();
  find("refused").textContent = `${found.problem} ${found.remedy}`;
  find("refused").hidden = false;
}

function showExplanation(found) {
  terms.found = found;
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
  drawOutcomes(found, true);
}
