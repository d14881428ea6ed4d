import type { Mutant } from "../mutant.ts";

const settle = "lib/parcel/settle-apart.ts";
const end = "lib/parcel/end-lease.ts";
const split = "lib/parcel/split-parcel.ts";
const waitingTests = ["test/poison/waiting-parcel.test.ts"];
const tests = ["test/poison/one-job.test.ts"];
const claims = "lib/parcel/claims-aside.ts";
const laneTests = ["test/poison/lane-entry.test.ts"];
const claimTests = ["test/poison/claim.test.ts"];

/** One job that cannot be written, and the other jobs of its parcel. */
export const oneJobRows: readonly Mutant[] = [
  {
    name: "settle_some: a part is settled only with the present fence",
    file: "lib/parcel/sql/settle_some.sql",
    text: "where p.id = p_parcel and p.fence = p_fence and p.lease_until is not null for update;\n  v_now",
    replacement: "where p.id = p_parcel and p.lease_until is not null for update;\n  v_now",
    tests,
  },
  {
    name: "settle_some: the lease is extended, so that no sweep takes the other jobs meanwhile",
    file: "lib/parcel/sql/settle_some.sql",
    text: "update carillon.parcels p set lease_until = greatest(p.lease_until, v_now + interval '30 seconds'),",
    replacement: "update carillon.parcels p set lease_until = p.lease_until,",
    tests,
  },
  {
    name: "end_lease_of_some: the jobs are returned uncharged, each alone",
    file: "lib/parcel/sql/end_lease_of_some.sql",
    text: "array_agg('back'::text) as outcomes",
    replacement: "array_agg('crashed'::text) as outcomes",
    tests,
  },
  {
    name: "leave_parcel: the parcel gives up its place at the target",
    file: "lib/parcel/sql/leave_parcel.sql",
    text: "update carillon.parcels p set slots = null, turn = null,",
    replacement: "update carillon.parcels p set",
    tests,
  },
  {
    name: "leave_parcel: the lease of the parcel ends",
    file: "lib/parcel/sql/leave_parcel.sql",
    text: "lease_until = least(p.lease_until, v_now),\n      offer_at = least(p.offer_at, v_now),",
    replacement: "lease_until = p.lease_until,",
    tests,
  },
  {
    name: "leave_parcel: the parcel lists the jobs that stay",
    file: "lib/parcel/sql/leave_parcel.sql",
    text: "schedule_ids = v_stay.schedule_ids, kinds",
    replacement: "schedule_ids = v_parcel.schedule_ids, kinds",
    tests,
  },
  {
    name: "leave_parcel: a parcel without a job is deleted",
    file: "lib/parcel/sql/leave_parcel.sql",
    text: "    delete from carillon.parcels p where p.id = p_parcel;\n  else",
    replacement: "    null;\n  else",
    tests,
  },
  {
    name: "due_turns: a waiting parcel in quarantine is skipped",
    file: "lib/limit/sql/due_turns.sql",
    text: "q.consumer = 'turn' and q.item = 'parcel ' || p.id))",
    replacement: "q.consumer = 'turn' and q.item = 'parcel ' || p.id and false))",
    tests: waitingTests,
  },
  {
    name: "write_parcels: the jobs of a waiting parcel are written too",
    file: "lib/parcel/sql/write_parcels.sql",
    text: "and j.state = 'waiting' and j.parcel_id = w.id;\nend $$;",
    replacement: "and j.state = 'waiting' and j.parcel_id = w.id and false;\nend $$;",
    tests: waitingTests,
  },
  {
    name: "fill_parcel: a waiting parcel in quarantine is skipped",
    file: "lib/parcel/sql/fill_parcel.sql",
    text: "q.consumer = 'turn' and q.item = 'parcel ' || p.id))\n    for update",
    replacement: "q.consumer = 'turn' and q.item = 'parcel ' || p.id and false))\n    for update",
    tests: waitingTests,
  },
  {
    name: "a turn that a settle in parts cannot give is left to the sweep",
    file: "lib/parcel/leave-parcel.ts",
    text: '    log.warn("worker.turns-left", { target, error: errorText(error) });\n    return [];',
    replacement: "    throw error;",
    tests: waitingTests,
  },
  {
    name: "a failed grant of turns is repeated without the parcels that cannot be written",
    file: "lib/parcel/sweep-turns.ts",
    text: "if (!mayBeOfARow(error) || (await setParcelsAside(deps, target, timeIsUp)) === 0) throw error;",
    replacement: "throw error;",
    tests: waitingTests,
  },
  {
    name: "a waiting parcel that is mended leaves the quarantine",
    file: "lib/parcel/sweep-turns.ts",
    text: "  await retryParcels(deps, timeIsUp);\n",
    replacement: "",
    tests: waitingTests,
  },
  {
    name: "move_some: a job that moved to another parcel stays there",
    file: "lib/parcel/sql/move_some.sql",
    text: "and j.state = 'waiting' and j.parcel_id = p_parcel\n      returning j.occurrence, j.schedule_id, j.kind, j.n\n    )\n    insert",
    replacement:
      "and j.state = 'waiting'\n      returning j.occurrence, j.schedule_id, j.kind, j.n\n    )\n    insert",
    tests,
  },
  {
    name: "move_some: a claimed parcel keeps its jobs",
    file: "lib/parcel/sql/move_some.sql",
    text: "where p.id = p_parcel and p.lease_until is null and p.lane is null and p.ready_at <= v_now and p.pulse_at is null for update;",
    replacement:
      "where p.id = p_parcel and p.lane is null and p.ready_at <= v_now and p.pulse_at is null for update;",
    tests,
  },
  {
    name: "a parcel that was settled in parts releases its place at its target",
    file: settle,
    text: "if (held && isAnySettled)",
    replacement: "if (held && isAnySettled && unsettled.length === 0)",
    tests,
  },
  {
    name: "a result with a refused value is written without it, after the neighbours",
    file: settle,
    text: "for (const place of refused) written[place] = bare(place);",
    replacement: "for (const place of places) written[place] = bare(place);",
    tests,
  },
  {
    name: "a lease with jobs that cannot be taken reports the reason",
    file: end,
    text: "...(isThrough ? {} : { error })",
    replacement: "",
    tests,
  },
  {
    name: "only a parcel of one job is charged by its own lease",
    file: end,
    text: "return jobs < 2 ? [] :",
    replacement: "return jobs < 1 ? [] :",
    tests,
  },
  {
    name: "the second half of a split parcel leaves it when the first half has the job that stays",
    file: split,
    text: "if (first.failed.length > 0) await moveEach(places.slice(half));",
    replacement: "",
    tests,
  },
  {
    name: "a locked gate does not quarantine a job of the parcel",
    file: split,
    text: "      noteLocked();\n",
    replacement: "",
    tests,
  },
  {
    name: "a worker that claims a dead worker's parcel leaves jobs that it cannot take to the sweep",
    file: "lib/worker/work-parcel.ts",
    text: 'if (error !== undefined) deps.log.warn("parcel.lease-left"',
    replacement: 'if (error !== undefined) throw error;\n  deps.log.warn("parcel.lease-left"',
    tests,
  },
  {
    name: "a claim that gives way to a lock quarantines nothing",
    file: claims,
    text: "if (!mayBeOfARow(error) || inTheWay.has(sqlState(error))) return false;",
    replacement: "if (!mayBeOfARow(error)) return false;",
    tests: claimTests,
  },
  {
    name: "set_claim_aside: a parcel that another worker has claimed is not set aside",
    file: "lib/parcel/sql/set_claim_aside.sql",
    text: "where p.id = p_parcel and p.lease_until is null and p.lane is null and p.ready_at <= c.now\n    on conflict",
    replacement: "where p.id = p_parcel\n    on conflict",
    tests: claimTests,
  },
  {
    name: "set_claim_aside: the entry names the job that is left in the parcel",
    file: "lib/parcel/sql/set_claim_aside.sql",
    text: "and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = p.id) o",
    replacement: "and j.n = coalesce(k.n, 0)) o",
    tests: claimTests,
  },
  {
    name: "a parcel in quarantine for its claim is sent by its own retries only",
    file: "lib/parcel/sweep.ts",
    text: ' and not ${isAside(sql, "claim", id)}',
    replacement: "",
    tests: claimTests,
  },
  {
    name: "a quarantine entry is deleted when its parcel was claimed",
    file: claims,
    text: "  await letClaimedGo(sql);\n",
    replacement: "",
    tests: claimTests,
  },
  {
    name: "a retry is not sent with each sweep",
    file: claims,
    text: "set next_at = carillon.clock() + ${nextOffer}::interval where",
    replacement: "set next_at = next_at where",
    tests: claimTests,
  },
  {
    name: "a parcel whose own row cannot be written is not sent",
    file: claims,
    text: "      await writeParcels(sql, [item]);\n",
    replacement: "",
    tests: claimTests,
  },
  {
    name: "a tick checks failed claims even when no other parcel waits",
    file: "lib/tick/pending-work.ts",
    text: "\n        or exists (select from carillon.quarantine where consumer = 'claim')`",
    replacement: "`",
    tests: claimTests,
  },
  {
    name: "the lanes of each job of a parcel are left separately",
    file: "lib/parcel/leave-parcel.ts",
    text: "own.scheduleIds.map((_, place) => place);",
    replacement: "own.scheduleIds.map((_, place) => place).slice(0, 1);",
    tests: laneTests,
  },
  {
    name: "a parcel with jobs that were settled before has no failed ones",
    file: "lib/worker/settle-taken.ts",
    text: "if (tried > 0 && apart",
    replacement: "if (apart",
    tests: laneTests,
  },
  {
    name: "a job with an unreadable stored target fails alone",
    file: "lib/target/deliver.ts",
    text: "if (faults.every((fault) => fault === null)) return deliver(jobs, context);",
    replacement: "if (faults.length === jobs.length) return deliver(jobs, context);",
    tests: ["test/poison/odd-version.test.ts"],
  },
  {
    name: "a stored retry policy is checked by the kinds of its values",
    file: "lib/schedule/stored/stored-body.ts",
    text: "if (!fitsIn(given[name]))",
    replacement: "if (!fitsIn(given[name]) && false)",
    tests: ["test/poison/odd-version.test.ts"],
  },
];
