import type { Mutant } from "../mutant.ts";
import { commandReachRows } from "./command-reach.ts";
import { commandRows } from "./commands.ts";

const chunk = "lib/ingest/apply-chunk.ts";
const run = "lib/ingest/ingest.ts";
const marks = "lib/ingest/marks.ts";
const memory = "lib/ingest/memory.ts";
const inbox = "lib/inbox/apply-inbox.ts";
const inboxRows = "lib/inbox/apply-rows.ts";
const kept = "lib/idempotency/kept-requests.ts";
const pulses = "lib/worker/work-pulses.ts";

const ingestTest = "test/ingest/ingest.test.ts";
const othersTest = "test/ingest/others.test.ts";
const inboxTest = "test/inbox/apply-inbox.test.ts";
const orderTest = "test/inbox/order-and-depth.test.ts";
const daysTest = "test/retention/days.test.ts";
const purgeTest = "test/retention/purge.test.ts";
const beatTest = "test/pulse/beat.test.ts";

/** Commands of the queue and of SQL, repeated requests, deletion of old rows, and pulses. */
export const ingest: readonly Mutant[] = [
  ...commandRows,
  ...commandReachRows,
  {
    name: "a put is applied in its order",
    file: memory,
    text: "if (!isNewer(stamp, memory.base) || isSameCommand(stamp, memory.base)) return passedOver(memory);",
    replacement: "if (isSameCommand(stamp, memory.base)) return passedOver(memory);",
    tests: [ingestTest],
  },
  {
    name: "a put is applied once",
    file: memory,
    text: "if (!isNewer(stamp, memory.base) || isSameCommand(stamp, memory.base)) return passedOver(memory);",
    replacement: "if (!isNewer(stamp, memory.base)) return passedOver(memory);",
    tests: ["test/ingest/once.test.ts"],
  },
  {
    name: "a delete is applied once",
    file: memory,
    text: "if (!isNewer(stamp, memory.gone) || isSameCommand(stamp, memory.gone)) return passedOver(memory);",
    replacement: "if (!isNewer(stamp, memory.gone)) return passedOver(memory);",
    tests: ["test/ingest/once.test.ts"],
  },
  {
    name: "a patch is applied once",
    file: memory,
    text: "if (!isNewer(stamp, memory.base) || memory.patches.some((each) => isSameCommand(stamp, each.stamp)))",
    replacement: "if (!isNewer(stamp, memory.base))",
    tests: ["test/ingest/once.test.ts"],
  },
  {
    name: "a late put keeps the patches after it",
    file: memory,
    text: "return done({ ...memory, base: stamp, patches }, { again: patches });",
    replacement: "return done({ ...memory, base: stamp, patches });",
    tests: [ingestTest],
  },
  {
    name: "the marks are unchanged since they were read",
    file: marks,
    text: "if (rows.length < keys.length || rows.some(({ key, revision }) => read.get(key)?.revision !== revision))",
    replacement: "if (rows.length < keys.length)",
    tests: ["test/ingest/side-by-side.test.ts"],
  },
  {
    name: "the schedules are unchanged since they were read",
    file: chunk,
    text: "    if (hasMoved(applied, standingOf)) throw new MarksMoved();\n",
    replacement: "",
    tests: [othersTest],
  },
  {
    name: "the queue and the inbox are not applied at the same time",
    file: chunk,
    text: "        await lockInboxShared(tx);\n",
    replacement: "",
    tests: ["test/ingest/side-by-side.test.ts"],
  },
  {
    name: "a message with a failed command stays in the queue",
    file: run,
    text: "for (const messageId of messages) run.stay.add(messageId);",
    replacement: "void messages;",
    tests: [ingestTest],
  },
  {
    name: "a dead command that could not be recorded is received again",
    file: run,
    text: "  for (const messageId of unsent) stay.add(messageId);\n",
    replacement: "",
    tests: [ingestTest],
  },
  {
    name: "a failure before any command was read loses no message",
    file: run,
    text: "    for (const { messageId } of records) stay.add(messageId);\n",
    replacement: "",
    tests: ["test/ingest/side-by-side.test.ts"],
  },
  {
    name: "inbox: a command of a key waits for the failed one before it",
    file: inbox,
    text: "return failedAt !== undefined && BigInt(id) > BigInt(failedAt);",
    replacement: "return failedAt !== undefined && BigInt(id) < BigInt(failedAt);",
    tests: [inboxTest],
  },
  {
    name: "inbox: only one tick applies at a time",
    file: inboxRows,
    text: "        await lockForAll(tx);\n",
    replacement: "",
    tests: [inboxTest, orderTest],
  },
  {
    name: "inbox: a command that another tick has applied is skipped",
    file: inboxRows,
    text: "(there.has(id) && !late.has(index) ? [] : [index])",
    replacement: "(!late.has(index) ? [] : [index])",
    tests: [inboxTest],
  },
  {
    name: "inbox: a command that a later one of the queue has overtaken is skipped",
    file: inboxRows,
    text: "(there.has(id) && !late.has(index) ? [] : [index])",
    replacement: "(there.has(id) ? [] : [index])",
    tests: [othersTest],
  },
  {
    name: "a running request is not started again",
    file: kept,
    text: "where i.answer is null and i.claimed_until <= excluded.created_at and i.fingerprint",
    replacement: "where i.answer is null and i.fingerprint",
    tests: ["test/api/idempotency-claims.test.ts"],
  },
  {
    name: "a request that is taken over must have the same body",
    file: kept,
    text: "i.claimed_until <= excluded.created_at and i.fingerprint = excluded.fingerprint\n",
    replacement: "i.claimed_until <= excluded.created_at\n",
    tests: ["test/api/idempotency-claims.test.ts"],
  },
  {
    name: "a finished request is not taken over",
    file: kept,
    text: "\n        and i.created_at > excluded.created_at - make_interval(hours => ${keptHours})\n",
    replacement: "\n",
    tests: ["test/api/idempotency-claims.test.ts"],
  },
  {
    name: "a request that was overtaken commits nothing",
    file: kept,
    text: "where token_id = ${tokenId} and key = ${key} and claim = ${claim} and steps = ${n} and answer is null returning 1",
    replacement: "where token_id = ${tokenId} and key = ${key} and answer is null returning 1",
    tests: ["test/api/idempotency-claims.test.ts"],
  },
  {
    name: "a request that was overtaken stores no answer",
    file: kept,
    text: "where token_id = ${tokenId} and key = ${key} and claim = ${claim} and steps = ${steps} and answer is null returning token_id, key",
    replacement: "where token_id = ${tokenId} and key = ${key} and answer is null returning token_id, key",
    tests: ["test/api/idempotency-claims.test.ts"],
  },
  {
    name: "a partly applied request is released with its progress",
    file: kept,
    text: "and claim = ${claim} and steps = 0 and answer is null`;",
    replacement: "and claim = ${claim} and answer is null`;",
    tests: ["test/api/idempotency-claims.test.ts"],
  },
  {
    name: "a request that was overtaken releases no other",
    file: kept,
    text: "update carillon.idempotency set claimed_until = carillon.clock()\n    where token_id = ${tokenId} and key = ${key} and claim = ${claim} and answer is null`;",
    replacement:
      "update carillon.idempotency set claimed_until = carillon.clock()\n    where token_id = ${tokenId} and key = ${key} and answer is null`;",
    tests: ["test/api/idempotency-claims.test.ts"],
  },
  {
    name: "drop_day_of_jobs: a day that was written to since its check is kept",
    file: "lib/retention/sql/drop_day_of_jobs.sql",
    text: "if exists (select from carillon.stirred_days s where s.day = p_day and s.on_day > v_last) or (p_archived",
    replacement: "if (p_archived",
    tests: [daysTest],
  },
  {
    name: "drop_day_of_jobs: no row is written for a dropped day",
    file: "lib/retention/sql/drop_day_of_jobs.sql",
    text: "  update carillon.retention set kept_from = greatest(kept_from, (p_day + 1)::timestamp at time zone 'UTC');\n",
    replacement: "",
    tests: [daysTest, "test/retention/once.test.ts"],
  },
  {
    name: "purge_schedules: a schedule whose job waits on another day is kept",
    file: "lib/retention/sql/purge_schedules.sql",
    text: "      and not exists (select from carillon.jobs_beside b where b.schedule_id = s.id)\n",
    replacement: "",
    tests: [purgeTest],
  },
  {
    name: "purge_schedules: a schedule with occurrences in the backlog is kept",
    file: "lib/retention/sql/purge_schedules.sql",
    text: "      and not exists (select from carillon.backlog b where b.schedule_id = s.id)\n",
    replacement: "",
    tests: ["test/retention/purge-owed.test.ts"],
  },
  {
    name: "purge_schedules: a schedule for whose hold a parcel waits is kept",
    file: "lib/retention/sql/purge_schedules.sql",
    text: "      and not exists (select from carillon.parcels p where p.held_schedule = s.id)\n",
    replacement: "",
    tests: ["test/retention/purge-owed.test.ts"],
  },
  {
    name: "pulses: the rest is passed on when time is up",
    file: pulses,
    text: "      if (!goesOn) this.#rest = next;\n",
    replacement: "",
    tests: [beatTest],
  },
  {
    name: "pulses: a page starts only with time to be sent and settled",
    file: pulses,
    text: "next !== null && this.#timeLeftMs() >= pageMinMs;",
    replacement: "next !== null;",
    tests: [beatTest],
  },
  {
    name: "pulses: a target that refused a page is skipped for the next page",
    file: pulses,
    text: "if (this.#refused.has(pulses.target)) add(this.#refused, pulses.target, pulses.envelopes.length);\n    else if",
    replacement: "if",
    tests: ["test/pulse/pages.test.ts"],
  },
  {
    name: "pulses: a target that does not answer is skipped for the next page",
    file: pulses,
    text: "    else if (this.#failed.has(pulses.target)) this.#fail(pulses, after);\n",
    replacement: "",
    tests: ["test/pulse/pages.test.ts"],
  },
  {
    name: "pulses: a retry starts at the first failed pulse",
    file: pulses,
    text: "if (this.#failed.size === 0) this.#failedAfter = after;",
    replacement: "this.#failedAfter = after;",
    tests: ["test/pulse/pages.test.ts"],
  },
  {
    name: "pulses: a retry starts only with time to finish",
    file: pulses,
    text: "if (this.#pauses === pausesMax || this.#timeLeftMs() < pageMinMs) break;",
    replacement: "if (this.#pauses === pausesMax) break;",
    tests: ["test/pulse/pages.test.ts"],
  },
  {
    name: "settle_pulses: a parcel is settled only with its present fence",
    file: "lib/pulse/sql/settle_pulses.sql",
    text: "where p.id = p_parcel and p.fence = p_fence and p.pulse_at is not null returning",
    replacement: "where p.id = p_parcel and p.pulse_at is not null returning",
    tests: ["test/pulse/fence.test.ts"],
  },
  {
    name: "settle_pulses: only failed targets are retried",
    file: "lib/pulse/sql/settle_pulses.sql",
    text: "v_parcel.pulse_at, p_failed, v_tries, v_parcel.pulse_team_from,",
    replacement: "v_parcel.pulse_at, null, v_tries, v_parcel.pulse_team_from,",
    tests: [beatTest],
  },
  {
    name: "drop_day_of_jobs: a day that has left the archive is kept",
    file: "lib/retention/sql/drop_day_of_jobs.sql",
    text: "s.on_day > v_last) or (p_archived and not carillon.is_archived(p_day)) then",
    replacement: "s.on_day > v_last) then",
    tests: [daysTest],
    equivalent:
      "The archive loses a day only by a write to it, and the check before this one finds a write at this moment.",
  },
  {
    name: "pulses: only failed messages are sent again within the work",
    file: pulses,
    text: "return failed.length > 0 ? [{ target, envelopes: failed }] : [];",
    replacement: "return failed.length > 0 ? [pulses[index] ?? { target, envelopes: failed }] : [];",
    tests: ["test/pulse/tried-again.test.ts"],
  },
  {
    name: "pulses: the pauses for failing targets are those of a second, not of a page",
    file: pulses,
    text: "let pending = allowed.filter(",
    replacement: "this.#pauses = 0;\n    let pending = allowed.filter(",
    tests: ["test/pulse/pages.test.ts"],
  },
];
