// Runs cases, as JSON on standard input, with a client in JavaScript; prints what came of each.
// A case is { call, … }; entropy is a list of six bytes in hex, over and over again.
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";

const { module, cases } = JSON.parse(await text(process.stdin));
const local = await import(`${module}`);
const { fileStore } = await import(`${new URL("discreet-local-node.js", module)}`);

const hex = (bytes) => Buffer.from(bytes).toString("hex");

function drawing(entropy) {
  if (!entropy) return undefined;
  const bytes = Buffer.from(entropy.join(""), "hex");
  let at = 0;
  return local.draws((pool) => {
    for (let place = 0; place < pool.length; place++) pool[place] = bytes[at++ % bytes.length];
  });
}

const CALLS = {
  randomise: ({ question, level, entropy }) => hex(local.randomise(question, level, drawing(entropy))),
  // JSON has no infinity, so a number may be a text.
  level: ({ question, answer }) =>
    local.level(question, typeof answer === "string" && question.steps ? Number(answer) : answer),
  open: async ({ file, key }) => hex((await local.openSurvey(file, key)).digest),
  enrol: ({ store, limit }) => local.enrol(fileStore(store), limit),
  async report({ store, file, key, answers, entropy, days_later = 0 }) {
    const survey = await local.openSurvey(file, key);
    const now = Date.now;
    if (days_later) Date.now = () => now() + days_later * 86400e3;
    return hex(await new local.Client(fileStore(store, 50), drawing(entropy)).report(survey, answers));
  },
  async reports({ store, file, key, answers, times }) {
    const survey = await local.openSurvey(file, key);
    const one = () => new local.Client(fileStore(store, 60000)).report(survey, answers);
    return (await Promise.all(Array.from({ length: times }, one))).map(hex);
  },
  read: ({ store }) => readFile(store, "utf8"),
  wiped({ count }) {
    let pool;
    const draw = local.draws((bytes) => (pool = bytes).fill(255));
    for (let drawn = 0; drawn < count; drawn++) draw();
    return hex(pool);
  },
  async browser({ file, key, answers }) {
    const survey = await local.openSurvey(file, key);
    return hex(await new local.Client(local.browserStore("x")).report(survey, answers));
  },
};

const results = [];
for (const { call, ...rest } of cases) {
  try {
    results.push({ value: (await CALLS[call](rest)) ?? null });
  } catch (error) {
    results.push({ refused: error.message });
  }
}
process.stdout.write(JSON.stringify(results));
