import type { Schedule } from "../../client/main.ts";
import { besidesFields, foreseePut, type PutOutcome, type PutParams } from "../../put-preview/foresee-put.ts";
import type { Call } from "../command.ts";
import { showOccurrences } from "../output/shown-times.ts";
import { printable } from "../output/style.ts";

/**
 * Shows the result of a put without doing it, including refusals as far as a preview can find them.
 */
export async function tryPut({ client, out, signal }: Call, params: PutParams): Promise<void> {
  const { key } = params;
  const { saved, outcome, times } = await foreseePut(client, params, signal);
  if (out.isJson) {
    const { holds, ...others } = outcome;
    const noted = holds === null ? others : { ...others, holds };
    out.json({ dryRun: true, key, creates: saved === null, ...noted, ...times });
    return;
  }
  out.line(`${verbOf(outcome, saved)} ${printable(key)}: ${printable(times.cadenceText)}`);
  for (const { path: name, before, after } of outcome.changes)
    out.line(`  ${name}: ${printable(JSON.stringify(before))} → ${printable(JSON.stringify(after))}`);
  for (const line of besidesFields(outcome, saved)) out.line(`  ${line}`);
  showOccurrences(out, times);
}

function verbOf({ changes, countsAnew, credentials, holds }: PutOutcome, saved: Schedule | null): string {
  if (saved === null) return "Would create";
  if (changes.length > 0 || countsAnew || holds !== null) return "Would change";
  return credentials === "written" ? "Would write the credentials of" : "Would not change";
}
