import type { Mutant } from "../mutant.ts";

const chunk = "lib/ingest/apply-chunk.ts";
const run = "lib/ingest/ingest.ts";
const memory = "lib/ingest/memory.ts";
const standing = "lib/ingest/standing.ts";
const understand = "lib/ingest/understand.ts";
const inbox = "lib/inbox/apply-inbox.ts";
const inboxRows = "lib/inbox/apply-rows.ts";
const kept = "lib/idempotency/kept-requests.ts";
const requests = "lib/api/request/idempotency.ts";
const ingestTest = "test/ingest/ingest.test.ts";
const othersTest = "test/ingest/others.test.ts";
const inboxTest = "test/inbox/apply-inbox.test.ts";
const onceTest = "test/api/idempotency.test.ts";

/**
 * Commands of the queue and of SQL, and repeated requests: which are applied, in which order, and
 * with which rights.
 */
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
    name: "a command from before the oldest kept marks is refused",
    file: understand,
    text: "if (at.getTime() < now.getTime() - rememberedDays * dayMs)",
    replacement: "if (false)",
    tests: [ingestTest],
  },
  {
    name: "a job that is sent twice is made once",
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
    name: "pauses of an owner are applied in order",
    file: memory,
    text: "const isLate = !isNewer(stamp, memory.gone) || !isNewer(stamp, standing?.stamp ?? null);",
    replacement: "const isLate = !isNewer(stamp, memory.gone);",
    tests: ["test/ingest/once.test.ts"],
  },
  {
    name: "a late delete also removes older holds",
    file: memory,
    text: "{ does: false, released });",
    replacement: "{ does: false, released: [] });\n  void released;",
    tests: [ingestTest],
  },
  {
    name: "a key whose patches are forgotten refuses every command older than these patches",
    file: memory,
    text: "base: newest(memory.base, patches.forgotten),",
    replacement: "base: memory.base,",
    tests: ["test/ingest/passed-over.test.ts"],
  },
  {
    name: "the commands of one message keep their order, however many they are",
    file: "lib/ingest/stamp.ts",
    text: 'padStart(4, "0")',
    replacement: 'padStart(0, "0")',
    tests: [ingestTest],
  },
  {
    name: "a command that was applied is no longer dead",
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
    name: "later edits by other callers are kept",
    file: standing,
    text: 'const changed = kind === "pause" || kind === "resume" ? madeAt : specAt;',
    replacement: "const changed = madeAt;\n  void [kind, specAt];",
    tests: [othersTest],
  },
  {
    name: "a schedule that another caller deleted later stays deleted",
    file: standing,
    text: "return [changed, goneAt].some(",
    replacement: "void goneAt;\n  return [changed].some(",
    tests: [othersTest],
  },
  {
    name: "a hold that another caller released does not return",
    file: "lib/ingest/plan-chunk.ts",
    text: "isNewer(hold.stamp, done.memory.gone) && !isReleased(key, hold))",
    replacement: "isNewer(hold.stamp, done.memory.gone) && (isReleased(key, hold) || true))",
    tests: [othersTest],
  },
  {
    name: "a failed command does not delay the others",
    file: run,
    text: "if (isPassing(error) || error instanceof OutOfTime || entries.length === 1) {",
    replacement: "if (error instanceof Error) {",
    tests: [ingestTest],
  },
  {
    name: "inbox: the numbers of commands are not compared as texts",
    file: inbox,
    text: "return failedAt !== undefined && BigInt(id) > BigInt(failedAt);",
    replacement: "return failedAt !== undefined && id > failedAt;",
    tests: ["test/inbox/failing-runs.test.ts"],
  },
  {
    name: "inbox: the queue's marks record a delete that found nothing",
    file: inboxRows,
    text: "commands.filter((command, index) => foundNothing(command.operation, results[index])),",
    replacement: "[],",
    tests: [othersTest],
  },
  {
    name: "inbox: a refused command is stored without credentials",
    file: inboxRows,
    text: "command: withoutCredentials(command), problem",
    replacement: "command, problem",
    tests: [inboxTest],
  },
  {
    name: "inbox: a failure of the whole run stops it",
    file: inbox,
    text: "if (first !== undefined && others.length === 0 && mayBeOfARow(error))",
    replacement: "if (first !== undefined && others.length === 0)",
    tests: ["test/inbox/failing-runs.test.ts"],
  },
  {
    name: "an unhandled rejection ends no function",
    file: "lib/config/strays.ts",
    text: '  process.removeAllListeners("unhandledRejection");\n',
    replacement: "",
    tests: ["test/functions/strays.test.ts"],
  },
  {
    name: "inbox: a lock of the inbox that is not granted quarantines no command",
    file: "lib/inbox/apply-rows.ts",
    text: "throw isOfTheDatabase(error) ? error : new OfNoRow(error);",
    replacement: "throw isOfTheDatabase(error) || OfNoRow ? error : null;",
    tests: ["test/poison/inbox-lock.test.ts"],
  },
  {
    name: "a process that is blocked during a call is ended",
    file: "lib/config/blocked-process.ts",
    text: "    Atomics.add(cells, cell.calls, 1);\n",
    replacement: "",
    tests: ["test/functions/blocked-process.test.ts"],
  },
  {
    name: "a process with a running event loop is not ended",
    file: "lib/config/blocked-process.ts",
    text: "|| beats !== seen ? 0",
    replacement: "? 0",
    tests: ["test/functions/blocked-process.test.ts"],
  },
  {
    name: "a schema with a regular expression of the app has a time limit",
    file: "lib/job/bounded-schema.ts",
    text: 'if (check === "string_format") return formats.has(Reflect.get(definition, "format"));',
    replacement: 'if (check === "string_format") return true || formats.has(null);',
    tests: ["test/job/bounded-schema.test.ts"],
  },
  {
    name: "a schema that was too slow no longer shares its time limit with others",
    file: "lib/job/schema-time.ts",
    text: "    if (shared?.isLeft === true) return;\n",
    replacement: "",
    tests: ["test/job/schema-time.test.ts"],
  },
  {
    name: "a payload that hit a shared time limit is checked again alone",
    file: "lib/job/schema-time.ts",
    text: "if (!isWhole && item !== undefined)",
    replacement: "if (!isWhole && item !== undefined && index > items.length)",
    tests: ["test/job/schema-time.test.ts"],
  },
  {
    name: "inbox: commands that fail together are separated a hundred at a time",
    file: inbox,
    text: "run.failed < failuresMax ? inHalves(rows, attempt, stop)",
    replacement: "run.failed < failuresMax ? Promise.resolve({ left: rows })",
    tests: ["test/poison/inbox.test.ts"],
  },
  {
    name: "inbox: commands after a waiting one wait too",
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
    name: "inbox: a command that ends its transaction is quarantined",
    file: "lib/db/bounded.ts",
    text: "timing.now() - began > endedMs ? new TookTooLong()",
    replacement: "timing.now() - began > Infinity ? new TookTooLong()",
    tests: ["test/poison/inbox.test.ts"],
  },
  {
    name: "a command of the queue that takes too long is separated from the others",
    file: "lib/ingest/failure.ts",
    text: "return isPassingFailure(error) && !ofACommand.has(sqlState(error));",
    replacement: "void ofACommand;\n  return isPassingFailure(error) && sqlState(error) !== undefined;",
    tests: ["test/poison/ingest.test.ts"],
  },
  {
    name: "an all-or-nothing batch that is malformed does nothing",
    file: "lib/command/apply-commands.ts",
    text: "const impossible = options.allOrNothing === true && operations.length < read.length;",
    replacement: "const impossible = options.allOrNothing === true && operations.length === 0;",
    tests: ["test/command/all-or-nothing.test.ts"],
  },
  {
    name: "a call in SQL counts escaped characters as they are sent to queues",
    file: "lib/inbox/sql/payload_bytes.sql",
    text: "octet_length(v_text) + 3 * (",
    replacement: "octet_length(v_text) + 0 * (",
    tests: ["test/inbox/payload-bytes.test.ts"],
  },
  {
    name: "a call in SQL does not count the blanks that Postgres adds",
    file: "lib/inbox/sql/payload_bytes.sql",
    text: "v_outside := regexp_replace(v_text, ",
    replacement: "v_outside := regexp_replace('', ",
    tests: ["test/inbox/payload-bytes.test.ts"],
  },
  {
    name: "an allowed function admits its versions, but no function whose name only begins the same",
    file: "lib/command/allowed-targets.ts",
    text: "wanted.startsWith(`${allowed}:`)",
    replacement: "wanted.startsWith(allowed)",
    tests: ["test/command/allowed-targets.test.ts"],
  },
  {
    name: "an allowed queue admits no queue whose name only begins the same",
    file: "lib/command/allowed-targets.ts",
    text: 'if (allowed.endsWith("*")) return wanted.startsWith(allowed.slice(0, -1));',
    replacement: 'if (wanted.startsWith(allowed.replace("*", ""))) return true;',
    tests: ["test/command/allowed-targets.test.ts"],
  },
  {
    name: "a queue's URL names its account",
    file: "lib/command/allowed-targets.ts",
    text: "return `sqs:${ofHost}:${owner}:${name}`;",
    replacement: "return `sqs:${ofHost}:${account}:${name}`;",
    tests: ["test/command/allowed-targets.test.ts"],
  },
  {
    name: "a patch of a webhook's secret does not check the stored URL, and a new URL is checked",
    file: "lib/command/allowed-targets.ts",
    text: "? target.webhook.url === before.webhook.url",
    replacement: "? true",
    tests: ["test/command/allowed-targets.test.ts"],
  },
  {
    name: "an Idempotency-Key with another body is refused",
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
    name: "a temporary conflict is not stored under the Idempotency-Key",
    file: requests,
    text: "if (!(error instanceof PassingConflict) && isKept(response.statusCode)) return response;",
    replacement: "if (isKept(response.statusCode)) return response;",
    tests: ["test/api/idempotency-passing.test.ts"],
  },
  {
    name: "a failed request releases its Idempotency-Key",
    file: requests,
    text: "  return letGo(sql, claim).catch(() => {});\n",
    replacement: "  void [letGo, sql, claim];\n  return Promise.resolve();\n",
    tests: [onceTest],
  },
  {
    name: "settle_pulses: pulses that are passed on keep their tries",
    file: "lib/pulse/sql/settle_pulses.sql",
    text: "v_parcel.pulse_at, v_parcel.pulse_targets, v_parcel.pulse_tries,\n",
    replacement: "v_parcel.pulse_at, v_parcel.pulse_targets, null,\n",
    tests: ["test/pulse/tried-again.test.ts"],
  },
  {
    name: "settle_pulses: pulses that are passed on keep their targets",
    file: "lib/pulse/sql/settle_pulses.sql",
    text: "v_parcel.pulse_at, v_parcel.pulse_targets, v_parcel.pulse_tries,\n",
    replacement: "v_parcel.pulse_at, null, v_parcel.pulse_tries,\n",
    tests: ["test/pulse/pages.test.ts"],
  },
];
