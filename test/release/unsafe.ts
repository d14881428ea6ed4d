import type { MigrationKind } from "../../lib/db/migrate/migration.ts";
import { statementsOf } from "./statements.ts";

interface Rule {
  pattern: RegExp;
  /** Why the previous release's functions, which run on meanwhile, would be hurt. */
  hurts: string;
  /** Whether it is harmless where the migration has made the table itself. */
  harmlessOnNew: boolean;
}

/** Harmless in batches, each of which is soon over. */
const keepsRows = "rows stay locked, or nothing is written, until the migration ends";

const rules: Rule[] = [
  rule(
    /(^|[ ;])drop (?!(not null|identity|expression)\b)/,
    "the previous release may still use what is dropped",
    false,
  ),
  rule(/\brename\b/, "the previous release knows the old name alone", false),
  rule(/\bset schema\b/, "the previous release knows the old place alone", false),
  rule(/(^|[ ;])revoke\b(?!.* from public$)/, "the previous release may still need the right", false),
  rule(
    /\badd (column )?(?!constraint\b)[^,]*\bnot null\b(?![^,]*\bdefault\b)(?<!\bdefault\b[^,]*)/,
    "a column that must be given and has no default fails on rows that exist, and on inserts of the previous release",
    true,
  ),
  rule(
    /\balter (column )?\w+ set not null\b/,
    "inserts of the previous release may leave it out, and the table is read whole under a lock that stops everybody",
    true,
  ),
  rule(
    /\balter (column )?\w+ (set data )?type\b/,
    "the table is written anew under a lock that stops everybody",
    true,
  ),
  rule(
    /\badd (column )?[^,]*\bdefault\b[^,]*\b(random|clock_timestamp|gen_random_uuid|uuidv7|nextval|statement_timestamp)\(/,
    "a default that differs by row writes the table anew under a lock that stops everybody",
    true,
  ),
  rule(
    /\badd (column )?[^,]*\b(generated always as|\w*serial)\b/,
    "the table is written anew under a lock that stops everybody",
    true,
  ),
  rule(
    /\badd (constraint \S+ )?(check|foreign key)\b(?!.*\bnot valid\b)/,
    "every row is checked under a lock; add it `not valid`, and validate it in a later migration",
    true,
  ),
  rule(
    /\badd (constraint \S+ )?(unique|primary key|exclude)\b/,
    "its index is built under a lock that stops everybody",
    true,
  ),
  rule(
    /\bcreate (unique )?index (?!concurrently\b)/,
    "nobody writes to the table while it is built; build it concurrently, outside a transaction",
    true,
  ),
  rule(/\bcreate (constraint )?trigger\b/, "what the previous release writes goes through it too", true),
  rule(
    /(^|[ ;(])(?<!\b(?:for|do|before|after|or|key) )(update|delete from|truncate|cluster|vacuum|reindex|lock table|lock)\b/,
    keepsRows,
    true,
  ),
];

/** What a migration does that functions of the previous release, which run until they are replaced, may not survive; each as a sentence. */
export function unsafeIn(text: string, kind: MigrationKind = "transaction"): string[] {
  const made = new Set<string>();
  return statementsOf(text).flatMap(({ words, reason, line }) => {
    const table = /^create table (?:if not exists )?([\w.]+)/.exec(words)?.[1];
    if (table !== undefined) made.add(table);
    if (reason !== undefined) return [];
    // What a new function or view is called, and what it says, is no statement of this migration.
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
