import type postgres from "postgres";
import type { Tx } from "../db/connect.ts";
import { missingSchedule } from "../schedule/moved-away.ts";
import type { Json } from "../schedule/shape/json.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { hiddenDifferences, shownIfKnown } from "../schedule/shape/target-credentials.ts";
import type { Target } from "../schedule/shape/target-shape.ts";
import { readBody } from "../schedule/stored/stored-body.ts";
import { findLastOfKey } from "../schedule/stored/stored-schedule.ts";
import type { ScheduleChange } from "../schedule/stored/version-rows.ts";
import { type HoldEnd, holdEndsOf } from "./holds/hold-ends.ts";
import { type Change, changesBetween, payloadShownMax } from "./version-changes.ts";
import { detailOfVersion } from "./version-detail.ts";

/**
 * A version as the API shows it: its author, time and kind of change, and its differences from the
 * previous spec.
 */
export interface VersionRead {
  version: number;
  change: ScheduleChange;
  at: Date;
  by: string;
  /** The spec as shown, without the payload. Missing if the version changed only the state. */
  spec?: ShownSpec;
  /** Why the spec is unreadable. The readable parts are shown, with defaults for the rest. */
  unreadable?: string;
  changes: Change[];
  /** Further facts: the owner and the reason of a pause, the version that was restored. */
  detail: Json;
}

type ShownSpec = Omit<ScheduleBody, "payload" | "target"> & { target: object | null };

type Query = postgres.PendingQuery<postgres.Row[]>;

interface VersionRow {
  scheduleId: string;
  version: number;
  change: ScheduleChange;
  at: Date;
  by: string;
  sparse: Json;
  target: Json;
  sparseBefore: Json;
  targetBefore: Json;
  payloadChanged: boolean;
  payload: Json;
  payloadBefore: Json;
  payloadShown: boolean;
  /** In bytes. */
  payloadSize: number;
  detail: Json;
}

/**
 * Newest first, also of a deleted schedule. `before` is the version at which the previous page
 * ended. The end of a hold stands beside the version that was current then, and does not count
 * towards the limit.
 */
export async function versionsOf(
  tx: Tx,
  { key, limit, before }: { key: string; limit: number; before?: number | undefined },
): Promise<{ items: VersionRead[]; next?: number }> {
  const schedule = await findLastOfKey(tx, key);
  if (schedule === null) throw await missingSchedule(tx, key);
  const rows = await versionRows(
    tx,
    tx`
      select * from carillon.schedule_versions where schedule_id = ${schedule.id} and version < ${before ?? schedule.version + 1}
      order by version desc limit ${limit + 1}`,
  );
  const versions = rows.slice(0, limit).map(versionRead);
  const [first, last] = [versions[0]?.version, versions.at(-1)?.version];
  if (first === undefined || last === undefined) return { items: [] };
  const ends = Map.groupBy(
    await holdEndsOf(tx, schedule.id, { from: last, to: first }),
    (end) => end.version,
  );
  const items = versions.flatMap((each) => [...(ends.get(each.version) ?? []).map(endRead), each]);
  return rows.length > limit ? { items, next: last } : { items };
}

const endRead = (end: HoldEnd): VersionRead => ({ ...end, change: "resumed", changes: [] });

/**
 * The changes of versions, by `<schedule>/<version>`. A created version changes from null, a
 * deleted one to null.
 */
export async function changesOfVersions(
  tx: Tx,
  versions: readonly { scheduleId: string; version: number }[],
): Promise<Map<string, { change: ScheduleChange; changes: Change[] }>> {
  if (versions.length === 0) return new Map();
  const rows = await versionRows(
    tx,
    tx`
      select v.* from unnest(${versions.map(({ scheduleId }) => scheduleId)}::bigint[], ${versions.map(({ version }) => version)}::int[]) w (id, version)
      join carillon.schedule_versions v on v.schedule_id = w.id and v.version = w.version`,
  );
  return new Map(
    rows.map((row) => [
      `${row.scheduleId}/${row.version}`,
      { change: row.change, changes: [...wholeChange(row), ...versionRead(row).changes] },
    ]),
  );
}

function wholeChange(row: VersionRow): Change[] {
  const { change, sparse, target, sparseBefore, targetBefore, payload, payloadSize } = row;
  if (change === "deleted" && sparseBefore !== null)
    return [{ path: "", before: asJson(asked(sparseBefore, targetBefore).spec), after: null }];
  if (change !== "created" || sparse === null) return [];
  const made = { path: "", before: null, after: asJson(asked(sparse, target).spec) };
  if (payloadSize > payloadShownMax) return [made, { path: "payload" }];
  return payload === null ? [made] : [made, { path: "payload", before: null, after: payload }];
}

function versionRows(tx: Tx, picked: Query): PromiseLike<VersionRow[]> {
  return tx<VersionRow[]>`
    select v.schedule_id as "scheduleId", v.version, v.change, v.changed_at as at, v.changed_by as by, v.body as sparse, v.target,
      b.body as "sparseBefore", b.target as "targetBefore",
      v.body is not null and b.body is not null and v.payload is distinct from b.payload as "payloadChanged",
      case when shown.payload then v.payload end as payload, case when shown.payload then b.payload end as "payloadBefore",
      shown.payload as "payloadShown", coalesce(octet_length(v.payload::text), 0) as "payloadSize", a.detail
    from (${picked}) v
    left join carillon.schedule_versions p on p.schedule_id = v.schedule_id and p.version = v.version - 1
    left join carillon.schedule_versions b on b.schedule_id = p.schedule_id and b.version = p.spec_version
    cross join lateral (
      select octet_length(v.payload::text) + coalesce(octet_length(b.payload::text), 0) <= ${payloadShownMax} is true as payload) shown
    left join lateral (${detailOfVersion(tx, tx`v`)}) a on true
    order by v.version desc`;
}

function versionRead(row: VersionRow): VersionRead {
  const { version, change, at, by, sparse, target, sparseBefore, targetBefore, detail } = row;
  const head = { version, change, at, by, detail };
  if (sparse === null) return { ...head, changes: [] };
  const own = asked(sparse, target);
  const shown = { spec: own.spec, ...(own.fault === null ? {} : { unreadable: own.fault }) };
  if (sparseBefore === null) return { ...head, ...shown, changes: [] };
  const before = asked(sparseBefore, targetBefore);
  return {
    ...head,
    ...shown,
    changes: [
      ...changesBetween(asJson(before.spec), asJson(own.spec)),
      ...hiddenDifferences(before.target, own.target).map((path) => ({ path })),
      ...payloadChanges(row),
    ],
  };
}

function payloadChanges({ payloadChanged, payloadShown, payload, payloadBefore }: VersionRow): Change[] {
  if (!payloadChanged) return [];
  return payloadShown ? changesBetween(payloadBefore, payload, "payload") : [{ path: "payload" }];
}

function asked(sparse: Json, stored: Json): { spec: ShownSpec; target: Target; fault: string | null } {
  const { body, fault } = readBody({ sparse, target: stored, payload: null });
  const { payload: _payload, target, ...spec } = body;
  return { spec: { ...spec, target: shownIfKnown(target) }, target, fault };
}

function asJson(value: object): Json {
  return JSON.parse(JSON.stringify(value));
}
