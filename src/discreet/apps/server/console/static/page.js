// What all scripts of the console use: elements, numbers, and how to send something to the service.

export const find = (id) => document.getElementById(id);

export async function post(path, body) {
  const csrf = document.querySelector('meta[name="csrf-token"]').content;
  const headers = { "Content-Type": "application/json", "X-CSRF-Token": csrf };
  try {
    const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    if (response.status === 401) location.reload();
    return await response.json();
  } catch {
    return { problem: "The service cannot be reached.", remedy: "Try again." };
  }
}

export function short(number) {
  if (!Number.isFinite(number)) return "";
  const digits = number !== 0 && Math.abs(number) < 1000 ? 3 : 4;
  return String(Number(number.toPrecision(digits)));
}

export function make(name, text, attributes = {}) {
  const namespace = "http://www.w3.org/2000/svg";
  const svg = ["circle", "line", "rect"].includes(name);
  const found = svg ? document.createElementNS(namespace, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
  if (text) found.textContent = text;
  return found;
}
