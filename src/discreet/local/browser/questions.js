// The questions, as a form. Whatever is left open is not answered, and nothing is sent about it.

import { element, number } from "./elements.js";

const FEW = 8; // options that are all shown at once
const MOST_FOUND = 200;
const OPEN = "I would rather not say";

// A fieldset, and a function that gives the answer, or undefined.
export function field(question, changed) {
  const kind = question.mechanism === "number" ? between
    : !Array.isArray(question.options) ? numbered
    : question.options.length <= FEW ? few
    : many;
  const { parts, answer } = kind(question, changed);
  const legend = element("legend", {}, question.text);
  const fieldset = element("fieldset", { id: `question-${question.name}` }, legend, ...parts);
  return { question, answer, fieldset };
}

function few({ name, options }, changed) {
  const buttons = [OPEN, ...options].map((_, place) =>
    element("input", { type: "radio", name, value: place, checked: place === 0, onchange: changed }));
  const parts = buttons.map((button, place) =>
    element("label", { class: place ? "choice" : "choice open" }, button, place ? options[place - 1] : OPEN));
  const answer = () => options[buttons.findIndex((button) => button.checked) - 1];
  return { parts, answer };
}

function many({ name, options }, changed) {
  const id = `answer-${name}`;
  let chosen;
  const list = element("select", { id, size: 6, onchange: () => {
    chosen = options[list.selectedOptions[0]?.value];
    changed();
  } });
  const found = element("p", { class: "small", role: "status" });
  const show = () => {
    const sought = search.value.trim().toLowerCase();
    const matching = [...options.keys()].filter((place) => options[place].toLowerCase().includes(sought));
    const shown = matching.slice(0, MOST_FOUND).map((place) =>
      element("option", { value: place, selected: options[place] === chosen }, options[place]));
    list.replaceChildren(element("option", { value: -1 }, OPEN), ...shown);
    found.textContent = matching.length > MOST_FOUND
      ? `${number(matching.length, 9)} options; the first ${MOST_FOUND} are shown: search for yours.`
      : `${number(matching.length, 9)} of ${number(options.length, 9)} options`;
  };
  const search = element("input", { id: `${id}-search`, type: "search", autocomplete: "off", oninput: show });
  show();
  const parts = [
    element("label", { for: `${id}-search` }, "Search"), search,
    element("label", { for: id }, "Your answer"), list, found,
  ];
  return { parts, answer: () => chosen };
}

function numbered({ name, options }, changed) {
  const id = `answer-${name}`;
  const box = element("input", {
    id, type: "number", min: 0, max: options - 1, step: 1, inputmode: "numeric", oninput: changed,
  });
  const from = `A number from 0 to ${number(options - 1, 9)}, or leave it open`;
  const label = element("label", { for: id }, from);
  return { parts: [label, box], answer: () => typed(box) };
}

function between({ name, lower, upper }, changed) {
  const id = `answer-${name}`;
  const step = 10 ** Math.floor(Math.log10((upper - lower) / 100));
  const box = element("input", { id, type: "number", min: lower, max: upper, step: "any", oninput: () => {
    slider.value = typed(box) ?? (lower + upper) / 2;
    slider.classList.toggle("open", box.value === "");
    changed();
  } });
  const slider = element("input", {
    id: `${id}-slider`, type: "range", class: "open", min: lower, max: upper, step, "aria-label": "Slider",
    oninput: () => {
      box.value = slider.value;
      slider.classList.remove("open");
      changed();
    },
  });
  slider.value = (lower + upper) / 2;
  const label = element("label", { for: id }, `From ${number(lower)} to ${number(upper)}, or leave it open`);
  return { parts: [label, element("div", { class: "row" }, slider, box)], answer: () => typed(box) };
}

// What is not a number of its kind is left to the client to refuse.
const typed = (box) => (box.value === "" && !box.validity.badInput ? undefined : box.valueAsNumber);
