import { parseQuotas } from "../../lib/config/quota-setting.ts";
import { defineQuotas } from "../../lib/quota/define-quotas.ts";
import { type Issued, issueToken, withToken } from "../api/issued-token.ts";
import { type ApiAnswer, type OwnApi, ownApi } from "../api/own-api.ts";

/** An API whose prefixes have these quotas. */
export interface QuotaWorld {
  api: OwnApi;
  define(...quotas: string[]): Promise<void>;
  /** A `write` token of a prefix. */
  team(prefix: string): Promise<Issued>;
  put(key: string, body?: object, by?: Issued): Promise<ApiAnswer>;
  remove(key: string, by?: Issued): Promise<ApiAnswer>;
  batch(operations: readonly object[], by?: Issued): Promise<ApiAnswer>;
  /** The sums that edits have noted, by prefix. */
  noted(): Promise<Record<string, Noted>>;
  /** The same sums, counted in the table of schedules. */
  counted(): Promise<Record<string, Noted>>;
}

export interface Noted {
  schedules: number;
  perYear: number;
  payloadBytes: number;
}

/** The target of schedules whose test gives none. */
export const target = { queue: "demo" };

export async function quotaWorld(...quotas: string[]): Promise<QuotaWorld> {
  return quotaWorldOf(await ownApi(), ...quotas);
}

export async function quotaWorldOf(api: OwnApi, ...quotas: string[]): Promise<QuotaWorld> {
  const define = (...entries: string[]) => defineQuotas(api.sql, parseQuotas(entries));
  await define(...quotas);
  const sums = async (rows: PromiseLike<(Noted & { prefix: string })[]>) =>
    Object.fromEntries((await rows).map(({ prefix, ...sum }) => [prefix, sum]));
  return {
    api,
    define,
    team: (prefix) => issueToken(api, { name: `team ${prefix}`, prefix, scope: "write" }),
    put: (key, body = {}, by) =>
      api.send("PUT", `/v1/schedules/${encodeURIComponent(key)}`, {
        ...withToken(by),
        body: { when: "every 1h", target, ...body },
      }),
    remove: (key, by) => api.send("DELETE", `/v1/schedules/${encodeURIComponent(key)}`, withToken(by)),
    batch: (operations, by) =>
      api.send("POST", "/v1/schedules:batch", { ...withToken(by), body: { operations } }),
    noted: () =>
      sums(api.sql<(Noted & { prefix: string })[]>`
        select t.prefix, sum(u.schedules)::int as schedules, sum(u.per_year)::float8 as "perYear",
          sum(u.payload_bytes)::float8 as "payloadBytes"
        from carillon.usage u join carillon.teams t on t.id = u.team_id group by 1
        having (sum(u.schedules), sum(u.per_year), sum(u.payload_bytes)) <> (0, 0, 0)`),
    counted: () =>
      sums(api.sql<(Noted & { prefix: string })[]>`
        select t.prefix, count(*)::int as schedules, sum(carillon.per_year_of(s.rule, s.per_year))::float8 as "perYear",
          sum(octet_length(replace(case when v.payload = 'null' then '' else v.payload::text end, ' ', '')))::float8 as "payloadBytes"
        from carillon.schedules s join carillon.teams t on starts_with(s.key, t.prefix)
        join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.spec_version
        where s.deleted_at is null and not exists (
          select from carillon.teams longer where starts_with(s.key, longer.prefix) and length(longer.prefix) > length(t.prefix))
        group by 1`),
  };
}

/** The operation of a batch that puts a schedule. */
export const putOf = (key: string, body: object = {}): object => ({
  put: { key, when: "every 1h", target, ...body },
});
