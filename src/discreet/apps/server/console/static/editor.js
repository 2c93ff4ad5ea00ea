// The editor, with completion as an ARIA combobox. Tab always leaves it.
import { explain, explainSoon } from "./explaining.js";
import { find, make } from "./page.js";

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

export function bindEditor(form) {
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

export function setQuestion(sql) {
  find("sql").value = sql;
  closeCompletion(find("sql"));
  explain();
}
