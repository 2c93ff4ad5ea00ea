// The collector, over HTTP.

const TRIES = 3;
const PAUSE_MS = 500;

// The survey's file, as text: whoever opens it checks its signature.
export async function surveyFile() {
  return (await answered(await fetch("survey.json"))).text();
}

// What became of a batch. The same bytes are sent again if no answer came: they count once.
export async function post(message) {
  for (let left = TRIES; ; left--) {
    try {
      const headers = { "content-type": "application/octet-stream" };
      const answer = await fetch("reports", { method: "POST", headers, body: message });
      return await (await answered(answer)).json();
    } catch (error) {
      if (error.remedy || left === 1) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

// Undefined where the collector does not show estimates.
export async function estimates() {
  const answer = await fetch("estimate.json");
  return answer.status === 404 ? undefined : (await answered(answer)).json();
}

async function answered(answer) {
  if (answer.ok) return answer;
  const { problem, remedy } = await answer.json();
  throw Object.assign(Error(`${problem} ${remedy}`), { remedy });
}
