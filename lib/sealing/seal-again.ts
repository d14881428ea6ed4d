import type { Sql, Tx } from "../db/connect.ts";
import { readSealed } from "../schedule/shape/sealed-text.ts";
import type { Target } from "../schedule/shape/target-shape.ts";
import {
  type Credential,
  credentialsOf,
  isHidden,
  placeOf,
  withValues,
} from "../schedule/shape/webhook-credentials.ts";
import { isStoredTarget } from "../schedule/stored/stored-target.ts";
import { sealedValue } from "./seal-credentials.ts";
import { readSealingKeys, rememberedKeys, type SealingKey } from "./sealing-keys.ts";
import type { VaultAccess } from "./vault-request.ts";

/** How far a pass over all versions has come. */
export interface PassPlace {
  scheduleId: string;
  version: number;
  /** Whether the pass has found a credential that the newest key does not seal. */
  hasFound: boolean;
}

export interface PassStep {
  /** Versions with a webhook that were looked at. */
  looked: number;
  /** Credentials that are sealed with the newest key now. */
  sealed: number;
  /** Credentials that no key opens: they have to be sent again. */
  unopened: { key: string; version: number }[];
  /** Null at the end of the pass. */
  next: PassPlace | null;
  /** The keys that were deleted, because a whole pass has found none of their credentials. */
  removed: number[];
}

interface Row {
  scheduleId: string;
  version: number;
  key: string;
  target: unknown;
}

/** Rows are read by the primary key, and those of other targets are passed over. */
const lookedMax = 5_000;
const rowsMax = 200;
/** The most credentials of one request to the vault, which opens and seals a thousand in a second. */
const askedMax = 500;

/**
 * One step of a pass over the stored versions: seals up to 200 of them with the newest key. A version
 * whose target another pass has changed meanwhile is left alone.
 */
export async function sealSomeAgain(sql: Sql, vault: VaultAccess, from: PassPlace | null): Promise<PassStep> {
  const [newest, ...older] = await readSealingKeys(sql);
  if (newest === undefined) return { looked: 0, sealed: 0, unopened: [], next: null, removed: [] };
  const { rows, last } = await readRows(sql, from);
  const changed = await sealedRows(sql, vault, newest, rows);
  const sealed = changed.reduce((sum, { count }) => sum + count, 0);
  if (sealed > 0) await write(sql, newest, changed);
  const unopened = changed.flatMap(({ row: { key, version }, lost }) => (lost ? [{ key, version }] : []));
  const hasFound = (from?.hasFound ?? false) || sealed > 0 || unopened.length > 0;
  const next = last === null ? null : { ...last, hasFound };
  const removed = next === null && !hasFound && older.length > 0 ? await removeOlder(sql, newest) : [];
  return { looked: rows.length, sealed, unopened, next, removed };
}

async function readRows(
  sql: Sql,
  from: PassPlace | null,
): Promise<{ rows: Row[]; last: Omit<PassPlace, "hasFound"> | null }> {
  const { scheduleId = "0", version = 0 } = from ?? {};
  const rows = await sql<(Row & { looked: number })[]>`
    with page as (
      select schedule_id, version, target, row_number() over (order by schedule_id, version) as n from (
        select schedule_id, version, target from carillon.schedule_versions
        where (schedule_id, version) > (${scheduleId}::bigint, ${version}::int)
        order by schedule_id, version limit ${lookedMax}) v)
    select p.schedule_id as "scheduleId", p.version, s.key, p.target, (select count(*)::int from page) as looked
    from page p join carillon.schedules s on s.id = p.schedule_id
    where p.target ? 'webhook' or p.n = ${lookedMax}
    order by p.schedule_id, p.version limit ${rowsMax}`;
  const hooks = rows.filter(({ target }) => isWebhook(target));
  const end = rows.at(-1);
  const isOver = (rows[0]?.looked ?? 0) < lookedMax && rows.length < rowsMax;
  return {
    rows: hooks,
    last: isOver || end === undefined ? null : { scheduleId: end.scheduleId, version: end.version },
  };
}

const isWebhook = (target: unknown): target is Extract<Target, { webhook: unknown }> =>
  isStoredTarget(target) && "webhook" in target;

interface Changed {
  row: Row;
  after: Target;
  /** Credentials that were sealed. */
  count: number;
  /** Whether a credential did not open. It is left as it is. */
  lost: boolean;
}

async function sealedRows(
  sql: Sql,
  vault: VaultAccess,
  newest: SealingKey,
  rows: readonly Row[],
): Promise<Changed[]> {
  const old = rows.flatMap((row) => {
    if (!isWebhook(row.target)) return [];
    const { webhook } = row.target;
    const credentials = credentialsOf(webhook).filter(({ value }) => readSealed(value)?.keyId !== newest.id);
    return credentials.length === 0 ? [] : [{ row, webhook, credentials }];
  });
  const texts = await sealedTexts(
    sql,
    vault,
    newest,
    old.flatMap(({ webhook, credentials }) => credentials.map((each) => ({ ...each, url: webhook.url }))),
  );
  return old.map(({ row, webhook, credentials }) => {
    const places = new Set(credentials.map(placeOf));
    const found = (each: Credential) =>
      isHidden(webhook, each) && places.has(placeOf(each))
        ? texts.get(nameOf({ ...each, url: webhook.url }))
        : undefined;
    const opened = credentials.filter((each) => found(each) !== undefined);
    const after = { webhook: withValues(webhook, (each) => found(each) ?? each.value) };
    return { row, after, count: opened.length, lost: opened.length < credentials.length };
  });
}

type Placed = Credential & { url: string };

/** The same for equal stored texts at the same place of the same host: they stay equal. */
const nameOf = ({ kind, name, value, url }: Placed) => `${kind} ${name} ${new URL(url).origin} ${value}`;

async function sealedTexts(
  sql: Sql,
  vault: VaultAccess,
  newest: SealingKey,
  credentials: readonly Placed[],
): Promise<Map<string, string>> {
  const distinct = [...new Map(credentials.map((each) => [nameOf(each), each])).values()];
  const stored = distinct.filter(({ value }) => readSealed(value) !== null);
  const texts = new Map<string, string>();
  for (const each of distinct)
    if (!stored.includes(each)) texts.set(nameOf(each), await sealedValue(each, each.url, newest));
  if (stored.length === 0) return texts;
  const ids = [...new Set([newest.id, ...stored.flatMap(({ value }) => readSealed(value)?.keyId ?? [])])];
  const keys = await rememberedKeys(sql)(ids);
  const to = {
    id: newest.id,
    sealedPrivateKey: keys[String(newest.id)] ?? "",
    printKey: newest.printKey.toString("base64"),
  };
  const sealed: (string | null)[] = [];
  for (let from = 0; from < stored.length; from += askedMax) {
    const credentials = stored
      .slice(from, from + askedMax)
      .map(({ kind, name, url, value }) => ({ kind, name, url, stored: value }));
    sealed.push(...(await vault.sealAgain({ keys, to, credentials })));
  }
  for (const [index, each] of stored.entries()) {
    const text = sealed[index];
    if (typeof text === "string") texts.set(nameOf(each), text);
  }
  return texts;
}

async function write(sql: Sql, newest: SealingKey, changed: readonly Changed[]): Promise<void> {
  const rows = changed.filter(({ count }) => count > 0);
  await sql.begin(async (tx) => {
    await tx`update carillon.sealing_keys set sealed_at = carillon.clock() where id = ${newest.id}`;
    await tx`
      update carillon.schedule_versions v set target = n.after
      from unnest(${rows.map(({ row }) => row.scheduleId)}::bigint[], ${rows.map(({ row }) => row.version)}::int[],
        ${rows.map(({ row }) => JSON.stringify(row.target))}::text[]::jsonb[],
        ${rows.map(({ after }) => JSON.stringify(after))}::text[]::jsonb[]) n (schedule_id, version, before, after)
      where v.schedule_id = n.schedule_id and v.version = n.version and v.target = n.before`;
  });
}

/**
 * Deletes the older keys, at the earliest ten minutes after the last credential was sealed again: an
 * edit that began before copies a stored credential, and an attempt under way has one.
 */
async function removeOlder(tx: Tx, newest: SealingKey): Promise<number[]> {
  const rows = await tx<{ id: number }[]>`
    delete from carillon.sealing_keys old using carillon.sealing_keys newest
    where newest.id = ${newest.id} and old.id < newest.id
      and greatest(newest.made_at, newest.sealed_at) < carillon.clock() - interval '10 minutes'
    returning old.id`;
  return rows.map(({ id }) => id).sort((one, other) => one - other);
}
