// Runs before `npm start`, also under a Node that is too old for it: plain JavaScript, which any
// Node with modules reads.
import { readFileSync } from "node:fs";

const { engines } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
const needed = engines.node.slice(2);
const [major, minor] = process.versions.node.split(".").map(Number);
const [majorNeeded, minorNeeded] = needed.split(".").map(Number);

if (major < majorNeeded || (major === majorNeeded && minor < minorNeeded)) {
  process.stderr.write(`Carillon needs Node ${needed} or newer; this is Node ${process.versions.node}.\n`);
  process.exit(1);
}
