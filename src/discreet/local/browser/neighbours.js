// People who do not exist, for a demo: their answers are made up, their reports by the same client.

import { batch, draws, randomise } from "./discreet-local.js";

const AT_ONCE = 100;

// Sends the reports of as many neighbours, to all questions; they have no memory, for each answers once.
export async function simulate(survey, people, post, told) {
  const draw = draws();
  for (let done = 0; done < people; done += AT_ONCE) {
    const sent = [];
    for (let person = 0; person < AT_ONCE; person++) {
      survey.questions.forEach((question, place) => {
        sent.push(place, ...randomise(question, madeUp(question, draw), draw));
      });
    }
    await post(batch(survey, sent));
    told(done + AT_ONCE);
  }
}

// Option 0 is the most frequent, the next about half as frequent, and so on; numbers are around a third.
function madeUp({ options, steps }, draw) {
  if (steps) return Math.floor((draw(steps + 1) + draw(steps + 1) + draw(Math.ceil(steps / 2))) / 4);
  const last = (options.length ?? options) - 1;
  let option = 0;
  while (option < last && draw(2)) option++;
  return option;
}
