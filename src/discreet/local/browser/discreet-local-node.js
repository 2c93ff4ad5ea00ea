// A device's memory as a file, for Node: written beside it, on the disk, then put in its place. A second
// file is the lock; one that a crash left behind must be deleted by hand, for nothing is sent until then.

import { open, readFile, rename, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout } from "node:timers/promises";

const PAUSE_MS = 5;

export const fileStore = (path, waitMs = 5000) => ({
  async update(change) {
    await lock(`${path}.lock`, waitMs);
    try {
      await write(path, JSON.stringify(change(await read(path))));
    } finally {
      await unlink(`${path}.lock`);
    }
  },
});

async function lock(path, waitMs) {
  for (let waited = 0; ; waited += PAUSE_MS) {
    try {
      return await (await open(path, "wx")).close();
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
      if (waited >= waitMs) throw Error(`Another process is answering. If there is none, delete ${path}`);
      await setTimeout(PAUSE_MS);
    }
  }
}

async function read(path) {
  try {
    return JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw Error("This device's memory cannot be read; it does not answer.");
  }
}

async function write(path, text) {
  await onDisk(`${path}.new`, "w", (file) => file.writeFile(text));
  await rename(`${path}.new`, path);
  await onDisk(dirname(path), "r", () => {});
}

async function onDisk(path, flags, use) {
  const file = await open(path, flags);
  try {
    await use(file);
    await file.sync();
  } finally {
    await file.close();
  }
}
