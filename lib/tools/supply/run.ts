import path from "node:path";
import { parseArgs } from "node:util";
import { advisories } from "./advisories.ts";
import { billFaults, writeBill } from "./bill.ts";
import { lockfileParts } from "./parts.ts";

const help = `npm run audit

  Checks the packages of package-lock.json: hashes, exact versions, install scripts, licences, the list of
  packages, and, where the registry answers, advisories. It ends with 1 if a part has a fault.

  npm run audit -- --write   writes the list of packages, for the commit that changes the lockfile`;

const root = path.join(import.meta.dirname, "..", "..", "..");
const say = (text: string) => process.stdout.write(`${text}\n`);

/** Returns whether the part is without a fault. */
function show(part: string, faults: readonly string[]): boolean {
  say(faults.length === 0 ? `${part}: passed` : `${part}: failed\n  ${faults.join("\n  ")}`);
  return faults.length === 0;
}

async function audit(): Promise<boolean> {
  const parts = [...lockfileParts(root), { part: "list of packages", faults: await billFaults(root) }];
  const offline = parts.map(({ part, faults }) => show(part, faults)).every((passed) => passed);
  const online = await advisories(root);
  if (!("skipped" in online)) return show("advisories", online.faults) && offline;
  say(`advisories: skipped, the registry gave none: ${online.skipped}`);
  return offline;
}

const { values } = parseArgs({
  options: { write: { type: "boolean", default: false }, help: { type: "boolean", default: false } },
});
if (values.help) say(help);
else if (values.write) say(await writeBill(root));
else process.exitCode = (await audit()) ? 0 : 1;
