// Microseconds of processor time of one report, the best of rounds, for each question on standard input (JSON).
import { text } from "node:stream/consumers";

const { module, questions, rounds, reports } = JSON.parse(await text(process.stdin));
const { draws, randomise } = await import(module);

const draw = draws();
const best = questions.map(() => Infinity);
for (let round = 0; round < rounds; round++) {
  questions.forEach(([question, answers], place) => {
    const start = process.cpuUsage();
    for (let report = 0; report < reports; report++) randomise(question, (report * 7919) % answers, draw);
    const { user, system } = process.cpuUsage(start);
    best[place] = Math.min(best[place], (user + system) / reports);
  });
}
process.stdout.write(JSON.stringify(best));
