import type { Mutant } from "../mutant.ts";

const chunk = "lib/ingest/apply-chunk.ts";
const run = "lib/ingest/ingest.ts";
const memory = "lib/ingest/memory.ts";
const standing = "lib/ingest/standing.ts";
const understand = "lib/ingest/understand.ts";
const inbox = "lib/inbox/apply-inbox.ts";
const inboxRows = "lib/inbox/apply-rows.ts";
const kept = "lib/idempotency/kept-requests.ts";
const requests = "lib/api/idempotency.ts";
const ingestTest = "test/ingest/ingest.test.ts";
const othersTest = "test/ingest/others.test.ts";
const inboxTest = "test/inbox/apply-inbox.test.ts";
const onceTest = "test/api/idempotency.test.ts";

/** Commands of the queue and of SQL, and requests that come again: what is applied, in which order, and for whom. */
export const commandRows: readonly Mutant[] = [
  {
    name: "a command's key begins with the queue's prefix",
    file: understand,
    text: "if (prefix === null || key.startsWith(prefix)) return;",
    replacement: "if (prefix === null || key.includes(prefix)) return;",
    tests: ["test/ingest/passed-over.test.ts"],
  },
  {
    name: "a command far ahead is refused",
    file: understand,
    text: 'if (at.getTime() > latest) return "lies in the future: it is when the command was given";',
    replacement: "",
    tests: [ingestTest],
  },
  {
    name: "a command of a time that is forgotten is refused",
    file: understand,
    text: "if (at.getTime() < now.getTime() - rememberedDays * dayMs)",
    replacement: "if (false)",
    tests: [ingestTest],
  },
  {
    name: "a job that comes twice is one",
    file: understand,
    text: 'newKey: () => `${prefix ?? ""}job:${uuidv5(id, jobKeys)}`,',
    replacement: 'newKey: () => `${prefix ?? ""}job:${uuidv5(id + String(Math.random()), jobKeys)}`,',
    tests: [ingestTest],
  },
  {
    name: "a pause is applied once",
    file: memory,
    text: "if (isLate || isSameCommand(stamp, standing?.stamp ?? null)) return passedOver(memory);",
    replacement: "if (isLate) return passedOver(memory);",
    tests: ["test/ingest/once.test.ts"],
  },
  {
    name: "a pause is applied in the order of its owner",
    file: memory,
    text: "const isLate = !isNewer(stamp, memory.gone) || !isNewer(stamp, standing?.stamp ?? null);",
    replacement: "const isLate = !isNewer(stamp, memory.gone);",
    tests: ["test/ingest/once.test.ts"],
  },
  {
    name: "a delete that comes late takes the older holds along",
    file: memory,
    text: "{ does: false, released });",
    replacement: "{ does: false, released: [] });\n  void released;",
    tests: [ingestTest],
  },
  {
    name: "a key whose patches are forgotten takes nothing older than those",
    file: memory,
    text: "base: newest(memory.base, patches.forgotten),",
    replacement: "base: memory.base,",
    tests: ["test/ingest/passed-over.test.ts"],
  },
  {
    name: "a command keeps its order with another time",
    file: "lib/ingest/stamp.ts",
    text: 'padStart(4, "0")',
    replacement: 'padStart(0, "0")',
    tests: [ingestTest],
  },
  {
    name: "a command that was applied is dead no more",
    file: chunk,
    text: "      taken.flatMap(({ received }) => (received.isAgain ? [received] : [])),",
    replacement: "      [],",
    tests: ["test/ingest/passed-over.test.ts"],
  },
  {
    name: "a delete that finds nothing is applied",
    file: chunk,
    text: 'if (isMissing && of.operation.kind === "delete") return { became: "applied", change: "unchanged" };',
    replacement: "",
    tests: [ingestTest],
  },
  {
    name: "what others did after the command was given stands",
    file: standing,
    text: 'const changed = kind === "pause" || kind === "resume" ? madeAt : specAt;',
    replacement: "const changed = madeAt;\n  void [kind, specAt];",
    tests: [othersTest],
  },
  {
    name: "what others deleted after the command was given stays deleted",
    file: standing,
    text: "return [changed, goneAt].some(",
    replacement: "void goneAt;\n  return [changed].some(",
    tests: [othersTest],
  },
  {
    name: "a hold that others released does not come back",
    file: "lib/ingest/plan-chunk.ts",
    text: "isNewer(hold.stamp, done.memory.gone) && !isReleased(key, hold))",
    replacement: "isNewer(hold.stamp, done.memory.gone) && (isReleased(key, hold) || true))",
    tests: [othersTest],
  },
  {
    name: "a command that fails alone keeps no others",
    file: run,
    text: "if (isPassing(error) || error instanceof OutOfTime || entries.length === 1) {",
    replacement: "if (error instanceof Error) {",
    tests: [ingestTest],
  },
  {
    name: "inbox: the numbers of commands are no texts",
    file: inbox,
    text: "return failedAt !== undefined && BigInt(id) > BigInt(failedAt);",
    replacement: "return failedAt !== undefined && id > failedAt;",
    tests: ["test/inbox/failing-runs.test.ts"],
  },
  {
    name: "inbox: the queue is told of a delete that found nothing",
    file: inboxRows,
    text: "commands.filter((command, index) => foundNothing(command.operation, results[index])),",
    replacement: "[],",
    tests: [othersTest],
  },
  {
    name: "inbox: a refused command is kept without credentials",
    file: inboxRows,
    text: "command: withoutCredentials(command), problem",
    replacement: "command, problem",
    tests: [inboxTest],
  },
  {
    name: "inbox: a failure that concerns all stops the run",
    file: inbox,
    text: "if (first !== undefined && others.length === 0 && mayBeOfARow(error))",
    replacement: "if (first !== undefined && others.length === 0)",
    tests: ["test/inbox/failing-runs.test.ts"],
  },
  {
    name: "a rejection that nothing awaits ends no function",
    file: "lib/config/stray-rejections.ts",
    text: '  process.removeAllListeners("unhandledRejection");\n',
    replacement: "",
    tests: ["test/functions/stray-rejections.test.ts"],
  },
  {
    name: "inbox: commands that fail together are told apart a hundred at a time",
    file: inbox,
    text: "run.failed < failuresMax ? await inHalves(rows, attempt, stop)",
    replacement: "run.failed < failuresMax ? { left: rows }",
    tests: ["test/poison/inbox.test.ts"],
  },
  {
    name: "inbox: what comes after a command that waits waits too",
    file: "lib/inbox/inbox-rows.ts",
    text: "coalesce(${keyOf(sql)}, '') not in (",
    replacement: "'' not in (",
    tests: ["test/poison/inbox.test.ts"],
  },
  {
    name: "a command that hangs is given up",
    file: "lib/db/bounded.ts",
    text: "const statementMsMax = 2_000;",
    replacement: "const statementMsMax = 60_000;",
    tests: ["test/poison/inbox.test.ts", "test/poison/ingest.test.ts"],
  },
  {
    name: "inbox: a command that its transaction is ended for is set aside",
    file: "lib/db/bounded.ts",
    text: "timing.now() - began > endedMs ? new TookTooLong()",
    replacement: "timing.now() - began > Infinity ? new TookTooLong()",
    tests: ["test/poison/inbox.test.ts"],
  },
  {
    name: "a command of the queue that takes too long is told apart",
    file: "lib/ingest/failure.ts",
    text: "return isPassingFailure(error) && !ofACommand.has(sqlState(error));",
    replacement: "void ofACommand;\n  return isPassingFailure(error) && sqlState(error) !== undefined;",
    tests: ["test/poison/ingest.test.ts"],
  },
  {
    name: "a batch that is all or nothing and cannot be understood does nothing",
    file: "lib/command/apply-commands.ts",
    text: "const impossible = options.allOrNothing === true && operations.length < read.length;",
    replacement: "const impossible = options.allOrNothing === true && operations.length === 0;",
    tests: ["test/command/all-or-nothing.test.ts"],
  },
  {
    name: "a call in SQL counts what is escaped for queues as it is sent",
    file: "migrations/0047-inbox-payload-bytes.sql",
    text: "octet_length(v_text) + 3 * (",
    replacement: "octet_length(v_text) + 0 * (",
    tests: ["test/inbox/payload-bytes.test.ts"],
  },
  {
    name: "a call in SQL does not count the blanks that Postgres writes",
    file: "migrations/0047-inbox-payload-bytes.sql",
    text: "v_outside := regexp_replace(v_text, ",
    replacement: "v_outside := regexp_replace('', ",
    tests: ["test/inbox/payload-bytes.test.ts"],
  },
  {
    name: "an allowed function stands for its versions, not for longer names",
    file: "lib/command/allowed-targets.ts",
    text: "wanted.startsWith(`${allowed}:`)",
    replacement: "wanted.startsWith(allowed)",
    tests: ["test/command/allowed-targets.test.ts"],
  },
  {
    name: "an allowed queue stands for no longer names",
    file: "lib/command/allowed-targets.ts",
    text: 'if (allowed.endsWith("*")) return wanted.startsWith(allowed.slice(0, -1));',
    replacement: 'if (wanted.startsWith(allowed.replace("*", ""))) return true;',
    tests: ["test/command/allowed-targets.test.ts"],
  },
  {
    name: "a queue's URL says its account",
    file: "lib/command/allowed-targets.ts",
    text: "return `sqs:${ofHost}:${owner}:${name}`;",
    replacement: "return `sqs:${ofHost}:${account}:${name}`;",
    tests: ["test/command/allowed-targets.test.ts"],
  },
  {
    name: "a patch of a webhook's secret is not held against its URL, a new URL is",
    file: "lib/command/allowed-targets.ts",
    text: "? target.webhook.url === before.webhook.url",
    replacement: "? true",
    tests: ["test/command/allowed-targets.test.ts"],
  },
  {
    name: "a key with another body is refused",
    file: kept,
    text: 'else if (!standing.fingerprint.equals(fingerprint)) return { state: "different" };\n',
    replacement: "",
    tests: [onceTest],
  },
  {
    name: "a request's preconditions are part of it",
    file: requests,
    text: 'headers["if-match"] ?? null, headers["if-none-match"] ?? null',
    replacement: "null, null",
    tests: [onceTest],
  },
  {
    name: "a conflict that passes is not what a key stands for",
    file: requests,
    text: "if (!(error instanceof PassingConflict) && isKept(response.statusCode)) return response;",
    replacement: "if (isKept(response.statusCode)) return response;",
    tests: ["test/api/idempotency-passing.test.ts"],
  },
  {
    name: "a request that failed is let go",
    file: requests,
    text: "  return letGo(sql, claim).catch(() => {});\n",
    replacement: "  void [letGo, sql, claim];\n  return Promise.resolve();\n",
    tests: [onceTest],
  },
  {
    name: "settle_pulses: what is handed on keeps its tries",
    file: "migrations/0035-pulse-beats.sql",
    text: "v_parcel.pulse_at, v_parcel.pulse_targets, v_parcel.pulse_tries,\n",
    replacement: "v_parcel.pulse_at, v_parcel.pulse_targets, null,\n",
    tests: ["test/pulse/tried-again.test.ts"],
  },
  {
    name: "settle_pulses: what is handed on is for the same targets",
    file: "migrations/0035-pulse-beats.sql",
    text: "v_parcel.pulse_at, v_parcel.pulse_targets, v_parcel.pulse_tries,\n",
    replacement: "v_parcel.pulse_at, null, v_parcel.pulse_tries,\n",
    tests: ["test/pulse/pages.test.ts"],
  },
];
