// What a report says, in words.

import { number, percent } from "./elements.js";

const SHOWN = 6;
const MOST_TRIED = 200_000;
const MAYBE = "yours may or may not be among them";

// Someone who thought an answer as likely as not may believe this much after the report, and no more.
export const belief = (epsilon) => 1 / (1 + Math.exp(-epsilon));

export const optionName = ({ options }, place) =>
  Array.isArray(options) ? options[place] : number(place, 9);

export function inWords(question, bytes) {
  const sent = bytes.reduceRight((total, byte) => total * 256 + byte, 0);
  return WORDS[question.mechanism](question, sent, bytes);
}

const WORDS = {
  subset(question, _, bytes) {
    const held = (place) => (bytes[place >> 3] >> (place % 8)) & 1;
    const places = Array.from({ length: count(question) }, (_, place) => place).filter(held);
    if (places.length === 1) return `“${listed(question, places)}”, which may or may not be your answer`;
    return `a set of ${places.length} options: ${listed(question, places)}; ${MAYBE}`;
  },

  projective(question, sent) {
    const { prime } = question;
    const point = digits(sent, prime);
    const product = (other) => other.reduce((sum, digit, at) => sum + digit * (point[at] ?? 0), 0);
    return numbered(question, sent, (place) => product(digits(place, prime)) % prime === 0);
  },

  hadamard(question, sent) {
    const agrees = (place) => {
      let odd = false;
      for (let shared = sent & (place + 1); shared; shared &= shared - 1) odd = !odd;
      return !odd;
    };
    return numbered(question, sent, agrees);
  },

  number({ lower, upper, steps, stride, window }, sent) {
    const value = (level) => number(lower + (Math.min(Math.max(level, 0), steps) / steps) * (upper - lower));
    if (sent < 2) {
      const [end, which, how] = sent ? [upper, "upper", "larger"] : [lower, "lower", "smaller"];
      return `the ${which} end, ${number(end)}: it is sent more often the ${how} the number is`;
    }
    const place = sent - 2;
    const from = value(Math.ceil((place - window + 1) / stride));
    return `a place that speaks for numbers from ${from} to ${value(Math.floor(place / stride))}; ${MAYBE}`;
  },
};

const count = ({ options }) => options.length ?? options;

function listed(question, places) {
  const names = places.slice(0, SHOWN).map((place) => optionName(question, place));
  return names.join(", ") + (places.length > SHOWN ? ` and ${number(places.length - SHOWN, 9)} more` : "");
}

function numbered(question, sent, supports) {
  const tried = Math.min(count(question), MOST_TRIED);
  const places = [];
  for (let place = 0; place < tried; place++) if (supports(place)) places.push(place);
  const all = tried === count(question);
  const some = all ? `${number(places.length, 9)} options` : "many options, among them";
  const which = listed(question, all ? places : places.slice(0, SHOWN));
  return `the number ${number(sent, 9)}, which speaks for ${some}: ${which}; ${MAYBE}`;
}

// A point's digits, the lowest first, up to its leading 1.
function digits(point, prime) {
  const found = [];
  for (let size = 1; point >= size; size *= prime) {
    point -= size;
    found.push(0);
  }
  for (let place = 0; place < found.length; place++) {
    found[place] = point % prime;
    point = Math.floor(point / prime);
  }
  return [...found, 1];
}

export function beliefInWords(epsilon, sent) {
  const most = percent(belief(epsilon));
  return sent
    ? `Someone who thought an answer 50 % likely may now believe at most ${most}.`
    : `If you answer, someone who thought an answer 50 % likely may then believe at most ${most}.`;
}
