import type { MigrationKind } from "../../lib/db/migrate/migration.ts";
import { statementsOf } from "./statements.ts";

interface Rule {
  pattern: RegExp;
  /** Why the previous release's functions, which still run meanwhile, would fail or wait. */
  hurts: string;
  /** Whether it is harmless if the migration has made the table itself. */
  harmlessOnNew: boolean;
}

/**
 * The harm of a statement that changes many rows. A migration in batches does no such harm, because
 * each batch is short.
 */
const keepsRows = "rows stay locked, or writes wait, until the migration ends";

const rules: Rule[] = [
  rule(
    /(^|[ ;])drop (?!(not null|identity|expression)\b)/,
    "the previous release may still use the dropped object",
    false,
  ),
  rule(/\brename\b/, "the previous release knows only the old name", false),
  rule(/\bset schema\b/, "the previous release knows only the old schema", false),
  rule(/(^|[ ;])revoke\b(?!.* from public$)/, "the previous release may still need the right", false),
  rule(
    /\badd (column )?(?!constraint\b)[^,]*\bnot null\b(?![^,]*\bdefault\b)(?<!\bdefault\b[^,]*)/,
    "a required column without a default fails on existing rows, and on inserts of the previous release",
    true,
  ),
  rule(
    /\balter (column )?\w+ set not null\b/,
    "inserts of the previous release may leave it out, and the table is read whole under a lock that blocks every statement",
    true,
  ),
  rule(
    /\balter (column )?\w+ (set data )?type\b/,
    "the table is rewritten under a lock that blocks every statement",
    true,
  ),
  rule(
    /\badd (column )?[^,]*\bdefault\b[^,]*\b(random|clock_timestamp|gen_random_uuid|uuidv7|nextval|statement_timestamp)\(/,
    "a default that differs by row rewrites the table under a lock that blocks every statement",
    true,
  ),
  rule(
    /\badd (column )?[^,]*\b(generated always as|\w*serial)\b/,
    "the table is rewritten under a lock that blocks every statement",
    true,
  ),
  rule(
    /\badd (constraint \S+ )?(check|foreign key)\b(?!.*\bnot valid\b)/,
    "every row is checked under a lock; add it `not valid`, and validate it in a later migration",
    true,
  ),
  rule(
    /\badd (constraint \S+ )?(unique|primary key|exclude)\b/,
    "its index is built under a lock that blocks every statement",
    true,
  ),
  rule(
    /\bcreate (unique )?index (?!concurrently\b)/,
    "writes to the table wait while it is built; build it concurrently, outside a transaction",
    true,
  ),
  rule(/\bcreate (constraint )?trigger\b/, "it also runs for writes of the previous release", true),
  rule(
    /(^|[ ;(])(?<!\b(?:for|do|before|after|or|key) )(update|delete from|truncate|cluster|vacuum|reindex|lock table|lock)\b/,
    keepsRows,
    true,
  ),
];

/**
 * The statements of a migration that may break functions of the previous release, which run until
 * they are replaced. Each as a sentence.
 */
export function unsafeIn(text: string, kind: MigrationKind = "transaction"): string[] {
  const made = new Set<string>();
  return statementsOf(text).flatMap(({ words, reason, line }) => {
    const table = /^create table (?:if not exists )?([\w.]+)/.exec(words)?.[1];
    if (table !== undefined) made.add(table);
    if (reason !== undefined) return [];
    // The name and the body of a new function or view are no statements of this migration.
    if (/^create (or replace )?(function|procedure|view|table|type)\b/.test(words)) return [];
    const onNew = [...made].some((each) =>
      new RegExp(`(alter table|on|from|update|into) (only )?${each}\\b`).test(words),
    );
    return rules
      .filter(({ pattern, harmlessOnNew }) => pattern.test(words) && !(onNew && harmlessOnNew))
      .filter(({ hurts }) => kind !== "batches" || hurts !== keepsRows)
      .map(({ hurts }) => `line ${line}: ${words.slice(0, 80)}: ${hurts}`);
  });
}

function rule(pattern: RegExp, hurts: string, harmlessOnNew: boolean): Rule {
  return { pattern, hurts, harmlessOnNew };
}
