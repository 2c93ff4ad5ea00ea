// Microseconds of one report, the best of rounds, for each question on standard input (JSON).
import { text } from "node:stream/consumers";

const { module, questions, rounds, reports } = JSON.parse(await text(process.stdin));
const { draws, randomise } = await import(module);

const draw = draws();
const best = questions.map(() => Infinity);
for (let round = 0; round < rounds; round++) {
  questions.forEach(([question, answers], place) => {
    const start = process.hrtime.bigint();
    for (let report = 0; report < reports; report++) randomise(question, (report * 7919) % answers, draw);
    best[place] = Math.min(best[place], Number(process.hrtime.bigint() - start) / 1000 / reports);
  });
}
process.stdout.write(JSON.stringify(best));
