import type { Migration } from "../../lib/db/migrate/migration.ts";
import { previousRelease } from "../../lib/tools/migration/previous-release.ts";
import { statementsOf } from "./statements.ts";

/**
 * Statements that may be interrupted and run again: each does nothing, or continues, if it was done
 * before.
 */
const again = [
  /^create (unique )?index concurrently if not exists \w+ on /,
  /^drop index concurrently if exists /,
  /^alter table [\w.]+ validate constraint \w+$/,
];

/**
 * Where a migration breaks the rules of its kind (in a transaction, outside of one, or in batches),
 * each fault as a sentence.
 */
export function faultsOfKind({ kind, text, backTo }: Pick<Migration, "kind" | "text" | "backTo">): string[] {
  const words = statementsOf(text).map((statement) => statement.words);
  const faults: string[] = [];
  if (backTo !== previousRelease.lastMigration)
    faults.push(
      `it must say "-- carillon: back to ${previousRelease.lastMigration}": it is tested with that release's functions`,
    );
  if (kind === "outside") {
    for (const each of words)
      if (!again.some((pattern) => pattern.test(each)))
        faults.push(`it may be cut off and run again: ${each.slice(0, 60)}`);
  } else if (words.some((each) => /\bconcurrently\b/.test(each))) {
    faults.push('"concurrently" works only outside a transaction');
  }
  if (
    kind === "batches" &&
    (words.length !== 1 || !/\$1\b/.test(words[0] ?? "") || !/ as place\b/.test(words[0] ?? ""))
  )
    faults.push('it must be one statement that continues after $1 and returns "place"');
  return faults;
}
