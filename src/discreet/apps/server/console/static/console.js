// The console in a browser begins here: it gives each part of a page its script.
import { ask, bindAnswer } from "./answer.js";
import { bindBuilder } from "./builder.js";
import { bindEditor } from "./editor.js";
import { explain, explainSoon } from "./explaining.js";
import { drawOutcomes } from "./outcomes.js";
import { find } from "./page.js";
import { bindControls, drawOdds, setTerms, terms } from "./terms.js";

const form = find("ask");
if (form) {
  setTerms(form.elements.by.value, Number(form.elements.value.value));
  bindControls(explainSoon);
  bindEditor(form);
  bindBuilder(form);
  find("truth").addEventListener("input", (event) => {
    event.target.dataset.own = "yes";
    if (terms.found) drawOutcomes(terms.found, false);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask(form);
  });
  drawOdds(50);
  explain();
}
bindAnswer(document);
