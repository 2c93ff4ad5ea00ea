// Three controls: price, error and risk. The one that was moved last sets the other two.
import { find, make, short } from "./page.js";

const controls = ["epsilon", "within", "suspicion"];

// What was set last, and what the service said to it.
export const terms = { by: "epsilon", value: 0, found: null };

function range(name) {
  const { epsilon, most_epsilon: most, error } = terms.found;
  const top = Math.max(most, epsilon);
  const least = top / 1000;
  if (name === "epsilon") return [least, top];
  if (name === "within") return error ? [(error.each * epsilon) / top, (error.each * epsilon) / least] : null;
  return [50 + 49.99 / 1000, Math.max(terms.found.suspicion, 100 / (1 + Math.exp(-top)))];
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

export function setTerms(by, value) {
  terms.by = by;
  terms.value = value;
  find("ask").elements.by.value = by;
  find("ask").elements.value.value = value;
}

export function showControls() {
  const { epsilon, error, suspicion } = terms.found;
  const values = { epsilon, within: error ? error.each : NaN, suspicion };
  for (const name of controls) {
    const input = find(name);
    input.disabled = !Number.isFinite(values[name]);
    if (document.activeElement !== input) input.value = short(values[name]);
    if (document.activeElement !== find(`${name}-slide`) || terms.by !== name) placeSlider(name, values[name]);
  }
  drawOdds(suspicion);
}

export function drawOdds(suspicion) {
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

export function bindControls(changed) {
  for (const name of controls) {
    const set = (value) => {
      if (!(value > 0)) return;
      setTerms(name, value);
      changed();
    };
    find(name).addEventListener("input", (event) => set(Number(event.target.value)));
    find(`${name}-slide`).addEventListener("input", (event) => {
      const ends = terms.found && range(name);
      if (!ends) return;
      const part = event.target.value / 1000;
      const value = Number(short(name === "suspicion" ? oddsAt(part, ends) : valueAt(part, ends)));
      find(name).value = short(value);
      event.target.setAttribute("aria-valuetext", short(value));
      set(value);
    });
  }
}
