// Asking, and what an answer can do.
import { explain } from "./explaining.js";
import { find, make, post, short } from "./page.js";
import { setTerms } from "./terms.js";

export async function ask(form) {
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

export function bindAnswer(part) {
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
