import packageJson from "../../package.json" with { type: "json" };

// Imported before all other modules, which an older Node may not be able to run. This one uses
// only what old versions know. lib/tools/node-version.js is the same for `npm start`.
const needed = packageJson.engines.node.slice(2);
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const [majorNeeded = 0, minorNeeded = 0] = needed.split(".").map(Number);

if (major < majorNeeded || (major === majorNeeded && minor < minorNeeded)) {
  process.stderr.write(`carillon needs Node ${needed} or newer; this is Node ${process.versions.node}.\n`);
  process.exit(1);
}
