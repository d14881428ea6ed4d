import type { Mutant } from "../mutant.ts";
import { lanePassRows } from "./lane-passes.ts";
import { limitRows } from "./limits.ts";

const lanes = "test/parcel/lanes.test.ts";
const groupLanes = "test/parcel/group-lanes.test.ts";
const grouped = "test/parcel/grouped-handlers.test.ts";
const turns = "test/parcel/target-turns.test.ts";

/** Lanes, groups and the limits of targets; the sweep, and sending. */
export const laneRows: readonly Mutant[] = [
  ...lanePassRows,
  ...limitRows,
  {
    name: "lane_front: one job at a time passes a lane",
    file: "lib/lane/sql/lane_front.sql",
    text: "where e.lane = p_lane and not exists (select from inside)\n",
    replacement: "where e.lane = p_lane\n",
    tests: [lanes],
  },
  {
    name: "lane_front: a job inside passes again only if no other one inside runs",
    file: "lib/lane/sql/lane_front.sql",
    text: "select i.occurrence, i.schedule_id, i.kind, i.n, i.parcel_id, not exists (\n        select from inside o\n        where o.leased and (o.occurrence, o.schedule_id, o.kind, o.n) <> (i.occurrence, i.schedule_id, i.kind, i.n))",
    replacement: "select i.occurrence, i.schedule_id, i.kind, i.n, i.parcel_id, true",
    tests: [lanes],
  },
  {
    name: "lane_front: a running job of a deleted schedule counts as inside",
    file: "lib/lane/sql/lane_front.sql",
    text: "and (p.lease_until is not null or (coalesce(s.deleted_at, 'infinity') = 'infinity'\n            and (s.held_since",
    replacement: "and ((coalesce(s.deleted_at, 'infinity') = 'infinity'\n            and (s.held_since",
    tests: [groupLanes],
  },
  {
    name: "lane_front: a job of a deleted schedule gets no turn",
    file: "lib/lane/sql/lane_front.sql",
    text: "and j.state = 'waiting'\n          and coalesce(s.deleted_at, 'infinity') = 'infinity'\n          and (s.held_since is null or s.held_until <= p_now or e.kind = 'manual') offset 0) j\n      where e.lane = p_lane and not exists",
    replacement:
      "and j.state = 'waiting'\n          and (s.held_since is null or s.held_until <= p_now or e.kind = 'manual') offset 0) j\n      where e.lane = p_lane and not exists",
    tests: [groupLanes],
  },
  {
    name: "lane_front: a held job gets no turn",
    file: "lib/lane/sql/lane_front.sql",
    text: "and (s.held_since is null or s.held_until <= p_now or e.kind = 'manual') offset 0) j\n      where e.lane = p_lane and not exists",
    replacement: "offset 0) j\n      where e.lane = p_lane and not exists",
    tests: [groupLanes],
  },
  {
    name: "lane_front: an occurrence waits for an earlier one of the backlog",
    file: "lib/lane/sql/lane_front.sql",
    text: "e.kind <> 'cadence' or not carillon.owes_before(e.schedule_id, e.occurrence)\n      from",
    replacement: "true\n      from",
    tests: ["test/parcel/lane-owed.test.ts"],
  },
  {
    name: "lane_is_busy: a job of the group that runs in another parcel makes the lane busy",
    file: "lib/lane/sql/lane_is_busy.sql",
    text: "and p.lease_until is not null and p.id is distinct from p_parcel\n",
    replacement: "and p.lease_until is not null and p.id is null\n",
    tests: [grouped],
  },
  {
    name: "grouped_front: no job of a group gets a turn while the group runs",
    file: "lib/lane/sql/grouped_front.sql",
    text: "where e.lane = p_lane and e.due_at <= p_now and not carillon.lane_is_busy(p_lane, null)",
    replacement: "where e.lane = p_lane and e.due_at <= p_now",
    tests: [grouped],
  },
  {
    name: "free_lanes: only a job that may pass gets a turn",
    file: "lib/lane/sql/free_lanes.sql",
    text: "where p.id = f.parcel_id and p.lane = l.lane and f.may_pass\n",
    replacement: "where p.id = f.parcel_id and p.lane = l.lane\n",
    tests: ["test/parcel/lane-owed.test.ts"],
  },
  {
    name: "leave_lanes: only settled jobs leave",
    file: "lib/lane/sql/leave_lanes.sql",
    text: "where not o.waits and e.lane = o.lane and e.due_at",
    replacement: "where e.lane = o.lane and e.due_at",
    tests: [lanes],
  },
  {
    name: "leave_lanes: the lanes are locked before jobs leave",
    file: "lib/lane/sql/leave_lanes.sql",
    text: "then return; end if;\n  perform carillon.lock_lanes(v_schedules, v_lanes);\n  -- An edit",
    replacement: "then return; end if;\n  -- An edit",
    tests: [lanes],
  },
  {
    name: "sweep_lanes: the lanes are locked before they are swept",
    file: "lib/lane/sql/sweep_lanes.sql",
    text: "if looked = 0 then return; end if;\n  perform carillon.lock_lanes(v_schedules, v_groups);",
    replacement: "if looked = 0 then return; end if;",
    tests: ["test/parcel/stays-alone.test.ts"],
  },
  {
    name: "cancel_superseded: a recheck of an older version is cancelled",
    file: "lib/parcel/sql/cancel_superseded.sql",
    text: "and s.id = k.schedule_id and s.deleted_at is null and coalesce(s.fresh_version, 1) > j.version",
    replacement: "and s.id = k.schedule_id and s.deleted_at is null and false",
    tests: ["test/edit/recheck-edits.test.ts"],
  },
  {
    name: "sweep: parcels that wait at a target get the free turns",
    file: "lib/parcel/sweep.ts",
    text: "      ...(await sweepTurns({ sql, log }, timeIsUp)),\n",
    replacement: "",
    tests: [turns],
  },
  {
    name: "sweep: an extended lease is checked at its new end",
    file: "lib/parcel/sweep.ts",
    text: '  await keepUntilLeaseEnds(tx, ids("live"));\n',
    replacement: "",
    tests: ["test/parcel/sweep-looks.test.ts"],
  },
  {
    name: "sweep: offers have growing intervals",
    file: "lib/parcel/sweep.ts",
    text: "offer_at = greatest(ready_at, carillon.clock()) + interval '1 minute' * power(2, least(offers, 5))",
    replacement: "offer_at = greatest(ready_at, carillon.clock()) + interval '1 minute'",
    tests: ["test/parcel/sweep.test.ts"],
  },
  {
    name: "sweep: the next offer of a parcel that is ready later counts from its ready time",
    file: "lib/parcel/sweep.ts",
    text: "offer_at = greatest(ready_at, carillon.clock()) + interval",
    replacement: "offer_at = carillon.clock() + interval",
    tests: ["test/parcel/sweep-looks.test.ts"],
  },
  {
    name: "sweep: a lease is checked a moment after its end",
    file: "lib/parcel/sweep.ts",
    text: "const afterLeaseMs = 2_000;",
    replacement: "const afterLeaseMs = 0;",
    tests: ["test/parcel/sweep-looks.test.ts"],
  },
  {
    name: "handOver: only messages that arrived are marked",
    file: "lib/parcel/hand-over.ts",
    text: "await markSent(sql, sent);",
    replacement: "await markSent(sql, near.map(({ id }) => id));",
    tests: ["test/parcel/hand-over.test.ts"],
  },
  {
    name: "handOver: a parcel that is ready later than a message's longest delay is not sent yet",
    file: "lib/parcel/hand-over.ts",
    text: "const near = parcels.filter(({ waitMs }) => waitMs <= (queue.delayMaxMs ?? delayMaxMs));",
    replacement:
      "const near = parcels.filter(({ waitMs }) => waitMs <= (queue.delayMaxMs ?? delayMaxMs) * 1e6);",
    tests: ["test/parcel/hand-over.test.ts"],
  },
  {
    name: "handOver: a failed mark fails nothing",
    file: "lib/parcel/hand-over.ts",
    text: 'queue.log.warn("parcel.unmarked", { parcels: sent.length, error: errorText(error) });',
    replacement: "throw error;",
    tests: ["test/parcel/hand-over.test.ts"],
  },
  {
    name: "sendParcels: only messages that SQS confirms count as sent",
    file: "lib/parcel/parcel-queue.ts",
    text: "return (answer.Successful ?? []).flatMap(({ Id }) => (Id === undefined ? [] : [Id]));",
    replacement: "return batch.map(({ id }) => id);",
    tests: ["test/parcel/hand-over.test.ts"],
  },
  {
    name: "sendParcels: a failed batch fails no other",
    file: "lib/parcel/parcel-queue.ts",
    text: "      error: errorText(error),\n    });\n    return gotNoAnswer(error) ? null : [];",
    replacement: "      error: errorText(error),\n    });\n    throw error;",
    tests: ["test/parcel/hand-over.test.ts"],
  },
  {
    name: "parcelOfMessage: a number outside of the database's range is refused",
    file: "lib/parcel/parcel-queue.ts",
    text: "return BigInt(parcel) <= greatestId ? parcel : null;",
    replacement: "return parcel;",
    tests: ["test/parcel/hand-over.test.ts", "test/worker/worker.test.ts"],
  },
  {
    name: "parcelOfMessage: a message of another version is refused",
    file: "lib/parcel/parcel-queue.ts",
    text: "if (v !== 1 || typeof",
    replacement: "if (typeof",
    tests: ["test/parcel/hand-over.test.ts", "test/worker/worker.test.ts"],
  },
  {
    name: "sendParcels: delays are reduced by the time since they were computed",
    file: "lib/parcel/parcel-queue.ts",
    text: "const sinceMs = queue.timing.now() - toldAt;",
    replacement: "const sinceMs = 0;\n      void toldAt;",
    tests: ["test/parcel/hand-over.test.ts"],
  },
];
