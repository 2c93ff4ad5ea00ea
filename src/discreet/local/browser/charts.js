// The collector's estimates: bars with intervals.

import { element, fixed, number, percent, shape } from "./elements.js";

export function charts({ questions }, texts) {
  return questions.map((question) => {
    const { name, reports, needed, confidence } = question;
    const ready = question.shares || question.mean !== undefined;
    const said = ready
      ? `${number(reports, 9)} reports; intervals of ${percent(confidence)}`
      : `${number(reports, 9)} of the ${number(needed, 9)} reports that an estimate takes`;
    const drawn = !ready ? [element("progress", { max: needed, value: reports, "aria-label": said })]
      : question.shares ? shares(question)
      : [mean(question)];
    return element("article", { class: "card", "data-question": name },
      element("h3", {}, texts[name] ?? name), element("p", { class: "small" }, said), ...drawn);
  });
}

function shares({ shares, others }) {
  const from = Math.max(-0.5, Math.min(0, ...shares.map(({ share, error }) => share - error)));
  const to = Math.min(1.5, Math.max(0.05, ...shares.map(({ share, error }) => share + error)));
  const at = (value) => `${(100 * (Math.min(Math.max(value, from), to) - from)) / (to - from)}%`;
  const wide = (low, high) => `${parseFloat(at(high)) - parseFloat(at(low))}%`;
  const rows = shares.map(({ option, share, error, distribution }) => {
    const [low, high] = [share - error, share + error];
    const words = `${fixed(100 * share, 1)} ± ${fixed(100 * error, 1)} %`;
    const [left, right] = [Math.min(0, share), Math.max(0, share)];
    const bar = shape("svg", { class: "bar", role: "img", "aria-label": `${option}: ${words}` },
      shape("rect", { class: "fill", x: at(left), width: wide(left, right), y: 4, height: 12, rx: 2 }),
      shape("line", { class: "axis", x1: at(0), x2: at(0), y1: 0, y2: 20 }),
      shape("line", { class: "interval", x1: at(low), x2: at(high), y1: 10, y2: 10 }),
      shape("line", { class: "interval", x1: at(low), x2: at(low), y1: 6, y2: 14 }),
      shape("line", { class: "interval", x1: at(high), x2: at(high), y1: 6, y2: 14 }),
      shape("circle", { class: "dot", cx: at(distribution), cy: 10, r: 3.5 }));
    return element("div", { class: "option" }, element("span", { class: "name" }, option), bar,
      element("span", { class: "value" }, words));
  });
  if (!others) return rows;
  const said = `and ${number(others, 9)} smaller ones. Of so many, some look larger than they are.`;
  return [...rows, element("p", { class: "small" }, said)];
}

function mean({ mean: found, error, lower, upper }) {
  const at = (value) => `${2 + (96 * (Math.min(Math.max(value, lower), upper) - lower)) / (upper - lower)}%`;
  const digits = Math.max(0, 1 - Math.floor(Math.log10(error)));
  const words = `${fixed(found, digits)} ± ${fixed(error, digits)}`;
  const scale = shape("svg", { class: "bar", role: "img", "aria-label": `mean: ${words}` },
    shape("line", { class: "axis", x1: at(lower), x2: at(upper), y1: 10, y2: 10 }),
    shape("line", { class: "interval", x1: at(found - error), x2: at(found + error), y1: 10, y2: 10 }),
    shape("line", { class: "interval", x1: at(found - error), x2: at(found - error), y1: 5, y2: 15 }),
    shape("line", { class: "interval", x1: at(found + error), x2: at(found + error), y1: 5, y2: 15 }),
    shape("circle", { class: "mean", cx: at(found), cy: 10, r: 5 }));
  const ends = [lower, upper].map((end) => element("span", {}, number(end)));
  return element("div", { class: "option" }, element("span", { class: "name" }, "mean"),
    element("div", {}, scale, element("div", { class: "ends small" }, ...ends)),
    element("span", { class: "value" }, words));
}
