// Local privacy for browsers and Node 20: an answer becomes a random report here, once, and only that
// leaves. From the same random bytes, discreet.local in Python makes the same reports.
//
// discreet-local.js is this file made small, as its first line says; tests run both.

const RANGE = 2 ** 48; // thresholds are out of this many
const MILLION = 1e6; // losses are whole millionths of ε
const { clz32, exp, floor, max, min, round } = Math;

const must = (right, problem) => {
  if (!right) throw Error(problem);
};
const whole = (value, low, high) => Number.isInteger(value) && value >= low && value <= high;
const utf8 = (text) => new TextEncoder().encode(text);
const unhex = (text) => Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));

// Random integers below a bound, six bytes each, the lowest first. Those that would favour small integers
// are drawn again. Bytes are wiped once used.
export function draws(fill = (pool) => crypto.getRandomValues(pool)) {
  const pool = new Uint8Array(1536);
  let at = pool.length;
  return (bound = RANGE) => {
    for (;;) {
      if (at === pool.length) {
        fill(pool);
        at = 0;
      }
      let drawn = 0;
      for (let place = at + 5; place >= at; place--) {
        drawn = drawn * 256 + pool[place];
        pool[place] = 0;
      }
      at += 6;
      if (drawn < RANGE - (RANGE % bound)) return drawn % bound;
    }
  };
}

// How many times likelier each favoured report is than each other, or the other way round.
function odds(keep, favoured, others) {
  const ratio = ((keep / favoured) * others) / (RANGE - keep);
  return max(ratio, 1 / ratio);
}

// Every mechanism, for k options, has its odds, the number of different reports (unless it reports bytes),
// whether it fits, and the report of an answer. See discreet/local/mechanisms.
const MECHANISMS = {
  __proto__: null,

  subset: ({ chosen, keep }, k) => ({
    odds: odds(keep, chosen, k - chosen),
    fits: () => chosen < k && k <= 256,
    report(answer, draw) {
      const kept = draw() < keep;
      const others = [];
      for (let option = 0; option < k; option++) if (option !== answer) others.push(option);
      const bitmap = Array(floor((k + 7) / 8)).fill(0);
      for (let place = 0; place < chosen; place++) {
        const other = place + draw(k - 1 - place);
        const option = kept && place === chosen - 1 ? answer : others[other];
        others[other] = others[place];
        bitmap[option >> 3] |= 1 << (option % 8);
      }
      return bitmap;
    },
  }),

  projective({ prime, coordinates, keep }, k) {
    const points = (digits) => (prime ** digits - 1) / (prime - 1);
    const reports = points(coordinates);
    const plane = points(coordinates - 1);
    return {
      reports,
      odds: odds(keep, plane, reports - plane),
      fits() {
        let factor = 2;
        if (!(coordinates > 1 && prime ** (coordinates - 1) <= 2 ** 24 && prime ** coordinates < 2 ** 32 && prime <= 2 ** 14 && k <= reports)) return false;
        while (factor < prime && prime % factor) factor++;
        return factor === prime;
      },
      report(answer, draw) {
        const kept = draw() < keep;
        let rest = kept + draw(prime ** (coordinates - 1) - kept);
        let lead = 0; // the place of the option's leading 1: its digits below are those of `answer`, then
        for (let size = 1; answer >= size; size *= prime) {
          answer -= size;
          lead++;
        }
        const point = [];
        let product = 0;
        for (let place = 0; place < coordinates; place++) {
          if (place === lead) continue;
          point[place] = rest % prime;
          product += point[place] * (answer % prime);
          rest = floor(rest / prime);
          answer = floor(answer / prime);
        }
        const rounds = prime * prime * coordinates; // a multiple of the prime, above the product
        point[lead] = (rounds - product + !kept) % prime;

        let top = coordinates - 1;
        while (!point[top]) top--;
        let inverse = 1; // of the leading digit: its power prime − 2
        for (let power = prime - 2, square = point[top]; power; power >>= 1) {
          if (power & 1) inverse = (inverse * square) % prime;
          square = (square * square) % prime;
        }
        let index = 0;
        for (let place = top - 1; place >= 0; place--) {
          index = index * prime + ((point[place] * inverse) % prime);
        }
        return index + points(top);
      },
    };
  },

  hadamard({ keep }, k) {
    const reports = 2 ** (32 - clz32(k));
    return {
      reports,
      odds: odds(keep, 1, 1),
      fits: () => k <= 2 ** 26,
      report(answer, draw) {
        let wrong = draw() >= keep;
        const mask = draw(reports);
        const point = answer + 1;
        for (let shared = mask & point; shared; shared &= shared - 1) wrong = !wrong;
        return wrong ? mask ^ (point & -point) : mask;
      },
    };
  },

  number({ steps, low, rise, mix, stride, window, keep, lower, upper }) {
    const top = low + steps * rise;
    const outside = steps * stride;
    const line = window + outside;
    const ends = max(top / low, (RANGE - low) / (RANGE - top));
    return {
      reports: mix ? 2 + line : 2,
      odds: max(ends, mix && odds(keep, window, outside)),
      fits: () =>
        steps <= 2 ** 16 && top < RANGE && line <= 2 ** 23 && upper > lower && upper - lower < Infinity,
      report(answer, draw) {
        if (draw() >= mix) return +(draw() < low + answer * rise);
        if (draw() < keep) return 2 + answer * stride + draw(window);
        const place = draw(outside);
        return 2 + place + (place >= answer * stride && window);
      },
    };
  },
};
const PARAMETERS = "keep,chosen,prime,coordinates,steps,low,rise,mix,stride,window".split(",");

const count = ({ options }) => options?.length ?? options;
const mechanism = (question) => MECHANISMS[question.mechanism]?.(question, count(question));

// The bytes of one report.
export function randomise(question, level, draw) {
  const { reports, report } = mechanism(question);
  const sent = report(level, draw);
  if (!reports) return sent;
  return Array.from({ length: (39 - clz32(reports - 1)) >> 3 }, (_, place) => (sent >> (8 * place)) & 255);
}

// Which answer this is: an option's place, or the nearest of the evenly spaced numbers.
export function level(question, answer) {
  const { name, options, lower, upper, steps } = question;
  if (question.mechanism === "number") {
    must(typeof answer === "number" && answer === answer, `The answer to ${name} must be a number.`);
    const inside = min(max(answer, lower), upper);
    return min(floor(((inside - lower) / (upper - lower)) * steps + 0.5), steps);
  }
  const place = Array.isArray(options) ? options.indexOf(answer) : answer;
  must(whole(place, 0, count(question) - 1), `That is not an option of question ${name}.`);
  return place;
}

function check(question) {
  const { name, epsilon } = question;
  const how = mechanism(question);
  const integers = PARAMETERS.every((parameter) => whole(question[parameter] ?? 1, 0, RANGE - 1));
  const proper = how && integers && whole(count(question) ?? 2, 2, 2 ** 26) && how.fits();
  const loss = /^\d+(\.\d{1,6})?$/.test(epsilon) && epsilon > 0 && epsilon <= 16;
  must(proper && loss, `Question ${name} is not a proper one.`);
  must(how.odds <= exp(epsilon) * (1 + 1e-9), `Question ${name} gives away more than its ε: do not answer.`);
}

const checkDay = ({ expires }) => must(Date.parse(`${expires}T24:00`) > Date.now(), "The survey has ended.");

// The survey in a signed file, if whoever holds this key (in hex) signed it, and it gives away no more than
// it says.
export async function openSurvey(file, key) {
  const { survey: text, signature } = JSON.parse(file);
  const { subtle } = crypto;
  const signer = await subtle.importKey("raw", unhex(key), "Ed25519", true, ["verify"]);
  const signed = await subtle.verify("Ed25519", signer, unhex(signature), utf8("discreet survey\n" + text));
  must(signed && text.isWellFormed(), "The survey is not signed by the key that you gave.");
  const survey = JSON.parse(text);
  must(survey.format === 1 && survey.questions.length <= 200, "The survey has an unknown format.");
  checkDay(survey);
  survey.questions.forEach(check);
  survey.digest = new Uint8Array(await subtle.digest("SHA-256", utf8(text))).slice(0, 16);
  return survey;
}

// What travels: format, digest, a random number of this batch, then reports, each after its question's place.
const nonce = () => [...crypto.getRandomValues(new Uint8Array(16))];
export const batch = ({ digest }, sent, number = nonce()) => Uint8Array.from([1, ...digest, ...number, ...sent]);

// Sets up a device that may ever give away ε = limit. One that has a memory keeps it.
export async function enrol(store, limit) {
  const memory = { limit: round(limit * MILLION), spent: 0, reports: {} };
  must(whole(memory.limit, 1, 1e9), "The limit must be from 0.000001 to 1000.");
  await store.update((old) => old ?? memory);
}

// Answers surveys for one device.
export class Client {
  constructor(store, draw = draws()) {
    this.store = store;
    this.draw = draw;
  }

  // A batch to send, as often as anyone likes: it counts once. A question is randomised once, and the report
  // repeated whatever the answer is by then.
  async report(survey, answers) {
    checkDay(survey);
    const { questions } = survey;
    const asked = Object.entries(answers).map(([name, answer]) => {
      const place = questions.findIndex((question) => question.name === name);
      must(place >= 0, `The survey has no question ${name}.`);
      return [place, level(questions[place], answer)];
    });
    asked.sort(([one], [other]) => one - other);
    let sent, number;
    await this.store.update((memory) => {
      must(
        whole(memory?.spent, 0, memory?.limit) && memory.reports,
        "This device has no memory of what it reported; it does not answer.",
      );
      const report = ([place, answer]) => [place, ...this.once(memory, survey, questions[place], answer)];
      sent = asked.flatMap(report);
      number = memory.reports[[survey.digest, ...asked.map(([place]) => place)]] ??= nonce();
      return memory;
    });
    return batch(survey, sent, number);
  }

  once(memory, survey, question, answer) {
    const key = memoryKey(survey, question);
    if (!memory.reports[key]) {
      memory.spent += round(question.epsilon * MILLION);
      must(memory.spent <= memory.limit, `${question.name}: this device may not give away as much any more.`);
      memory.reports[key] = randomise(question, answer, this.draw);
    }
    return memory.reports[key];
  }
}

// What must be the same for a report to be repeated.
export const memoryKey = ({ name, epoch }, question) =>
  JSON.stringify([name, question.refresh === "epoch" && epoch, question]);

// A device's memory in a browser. Transactions exclude other tabs, and end once they are on the disk;
// localStorage forgets what another tab wrote a moment ago, even under a lock.
export const browserStore = (name) => ({
  update: (change) =>
    new Promise((resolve, reject) => {
      const refuse = () => reject(Error("This browser keeps no memory for this page; it does not answer."));
      const opening = indexedDB.open(name);
      opening.onupgradeneeded = () => opening.result.createObjectStore(name);
      opening.onerror = refuse;
      opening.onsuccess = () => {
        const transaction = opening.result.transaction(name, "readwrite", { durability: "strict" });
        const memory = transaction.objectStore(name);
        const reading = memory.get(0);
        reading.onsuccess = () => {
          try {
            memory.put(change(reading.result), 0);
          } catch (error) {
            reject(error);
            transaction.abort();
          }
        };
        transaction.oncomplete = resolve;
        transaction.onabort = refuse;
        opening.result.close();
      };
    }),
});
