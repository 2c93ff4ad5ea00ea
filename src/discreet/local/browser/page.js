// A survey in the browser: answers, what leaves the device about them, and what the collector can tell.

import { charts } from "./charts.js";
import { estimates, post, surveyFile } from "./collector.js";
import { browserStore, Client, enrol, memoryKey, openSurvey } from "./discreet-local.js";
import { byId, element, number } from "./elements.js";
import { simulate } from "./neighbours.js";
import { field } from "./questions.js";
import { beliefInWords, inWords, optionName } from "./words.js";

const REFRESH_MS = 2000;
const NEIGHBOURS = 1000;
const MILLION = 1e6;

const store = browserStore("discreet-local");
const client = new Client(store);
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

let survey;
let fields;
let sent; // names of the questions in the last message, and which of them were randomised for it

start().catch(refused);

async function start() {
  const key = document.querySelector('meta[name="survey-key"]').content;
  survey = await openSurvey(await surveyFile(), key);
  document.title = byId("title").textContent = `Survey: ${survey.name}`;
  byId("key").textContent = key;
  fields = survey.questions.map((question) => field(question, () => show().catch(refused)));
  byId("questions").replaceChildren(...fields.map(({ fieldset }) => fieldset));
  const loss = survey.questions.reduce((sum, { epsilon }) => sum + Number(epsilon), 0);
  byId("limit").value = Math.max(0.1, Math.round(20 * loss) / 10);
  onSubmit("setup", setUp);
  onSubmit("answers", send);
  byId("simulate").addEventListener("click", () => simulateNeighbours().catch(refused));
  for (const id of ["asking", "leaving"]) byId(id).hidden = false;
  await show();
  await refresh();
}

function refused(error) {
  byId("problem").textContent = error.message;
  byId("problem").hidden = false;
}

function onSubmit(form, what) {
  byId(form).addEventListener("submit", async (event) => {
    event.preventDefault();
    byId("problem").hidden = true;
    byId("send").disabled = true;
    await what().catch(refused);
    await show().catch(refused);
  });
}

async function setUp() {
  await enrol(store, byId("limit").valueAsNumber);
  navigator.storage?.persist?.(); // a browser that is short of space forgets it last
}

async function remembered() {
  let memory;
  await store.update((old) => (memory = old));
  return memory;
}

async function send() {
  byId("outcome").textContent = "";
  const answers = answersGiven();
  if (!Object.keys(answers).length) throw Error("There is nothing to send: no question is answered.");
  const before = await remembered();
  const message = await client.report(survey, answers);
  const names = survey.questions.filter(({ name }) => Object.hasOwn(answers, name));
  const fresh = names.filter((question) => !before.reports[memoryKey(survey, question)]);
  const { accepted, rejected, repeated } = await post(message);
  sent = { names: new Set(names.map(({ name }) => name)), fresh: new Set(fresh.map(({ name }) => name)) };
  byId("request-size").textContent = `${message.length} bytes`;
  byId("request-bytes").textContent = hex(message);
  byId("request").hidden = false;
  byId("outcome").textContent = outcome(accepted, rejected, repeated);
  await draw();
}

function outcome(accepted, rejected, repeated) {
  if (repeated) return "Sent again. The collector had it already: it counts once.";
  if (rejected) return `Sent; the collector took ${accepted} and rejected ${rejected}.`;
  return `Sent. The collector counted ${accepted === 1 ? "one report" : `${accepted} reports`}.`;
}

function answersGiven() {
  const given = fields.map(({ question, answer }) => [question.name, answer()]);
  return Object.fromEntries(given.filter(([, answer]) => answer !== undefined));
}

// Everything that depends on the memory and on the form.
async function show() {
  const memory = await remembered();
  byId("setup").hidden = memory !== undefined;
  byId("send").disabled = memory === undefined;
  byId("lifetime").hidden = memory === undefined;
  if (memory) {
    const [spent, limit] = [memory.spent / MILLION, memory.limit / MILLION];
    byId("spent").max = limit;
    byId("spent").value = spent;
    byId("spent-words").textContent = `ε = ${number(spent)} of at most ${number(limit)}`;
  }
  byId("reports").replaceChildren(...fields.map(({ question, answer }) =>
    card(question, answer(), memory?.reports[memoryKey(survey, question)])));
}

function card(question, answer, report) {
  const { name, text, epsilon } = question;
  const facts = [];
  if (answer !== undefined) {
    const yours = named(question, answer);
    facts.push(["Your answer", element("span", {}, yours, element("em", {}, " stays here"))]);
  }
  if (report) {
    facts.push(["Sent instead", element("span", { "data-words": name }, inWords(question, report))]);
    facts.push(["Bytes", element("code", { "data-bytes": name }, hex(report))]);
  } else if (answer !== undefined) {
    facts.push(["Sent instead", "something random, drawn when you send: once, and for good"]);
  }
  const rows = facts.flatMap(([title, value]) => [element("dt", {}, title), element("dd", {}, value)]);
  return element("article", { class: "card", id: `report-${name}` },
    element("div", { class: "title" },
      element("h3", {}, text), element("span", { class: "tag" }, `ε = ${epsilon}`)),
    element("p", { class: "state", "data-state": name }, state(name, answer, report)),
    element("dl", {}, ...rows),
    element("p", { class: "small" }, beliefInWords(epsilon, report)));
}

function state(name, answer, report) {
  if (!report) return answer === undefined ? "Nothing leaves unless you answer." : "Nothing has left yet.";
  if (sent?.fresh.has(name)) return "Randomised just now, for the first and last time.";
  if (sent?.names.has(name)) return "Repeated: the same report as before, whatever you answered now.";
  return "Reported before. Whatever you answer now, the same report is sent again.";
}

function named(question, answer) {
  if (Number.isNaN(answer)) return "not a number";
  if (typeof answer === "string") return answer;
  return question.steps ? number(answer, 6) : optionName(question, answer);
}

async function refresh() {
  if (await draw()) setTimeout(() => refresh().catch(refused), REFRESH_MS);
}

// Draws the estimates, if the collector shows any.
async function draw() {
  let found;
  try {
    found = await estimates();
  } catch {
    return true; // the next one may come
  }
  if (!found) return false;
  const texts = Object.fromEntries(survey.questions.map(({ name, text }) => [name, text]));
  byId("estimate").hidden = false;
  byId("simulate").hidden = !found.demo;
  byId("charts").replaceChildren(...charts(found, texts));
  return true;
}

async function simulateNeighbours() {
  byId("simulate").disabled = true;
  try {
    await simulate(survey, NEIGHBOURS, post, (done) => {
      const people = `${number(done, 9)} people who do not exist`;
      byId("simulated").textContent = `Simulated for this demo: the reports of ${people}.`;
    });
  } finally {
    byId("simulate").disabled = false;
  }
  await draw();
}
