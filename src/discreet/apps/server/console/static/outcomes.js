// Twenty possible answers around a number that is made up.
import { find, make, short } from "./page.js";

function uniform() {
  return (crypto.getRandomValues(new Uint32Array(1))[0] + 0.5) / 2 ** 32;
}

function noise(kind, reach) {
  if (kind.endsWith("Gaussian")) {
    return (reach / 1.96) * Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
  }
  return (reach / Math.log(20)) * -Math.log(uniform()) * (uniform() < 0.5 ? -1 : 1);
}

export function drawOutcomes(found, fresh) {
  const { error, noise: kind } = found;
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
