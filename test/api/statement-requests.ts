import { randomUUID } from "node:crypto";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { minute } from "../support/instants.ts";
import type { OwnApi, SendParts } from "./own-api.ts";

/** Schedules of one prefix, which are also those of a group and of a tag. */
export interface Named {
  prefix: string;
  count: number;
}

export interface Sent {
  path: string;
  parts?: SendParts;
}

type Made = (of: Named, api: OwnApi) => Sent | Promise<Sent>;

const body = { when: "every 1m", target: { queue: "demo" } };
const sent = (path: string, parts: SendParts = {}): Sent => ({ path, parts });
const same =
  (path: string, parts: SendParts = {}): Made =>
  () =>
    sent(path, parts);
const search =
  (path: string, more = ""): Made =>
  ({ prefix }) =>
    sent(path, { query: `prefix=${prefix}${more}` });
const ofKey =
  (suffix: string, parts: SendParts = {}): Made =>
  ({ prefix }) =>
    sent(`/v1/schedules/${prefix}0${suffix}`, parts);
const ofAll =
  (verb: string, more: object = {}): Made =>
  ({ prefix }) =>
    sent(`/v1/schedules:${verb}`, { body: { filter: { prefix }, ...more } });
const nameOf = ({ prefix }: Named) => prefix.replace(":", "");
const label = (suffix = "", parts: SendParts = {}): Record<string, Made> => {
  const made =
    (scope: string): Made =>
    (of) =>
      sent(`/v1/${scope}s/${nameOf(of)}${suffix}`, parts);
  return Object.fromEntries(["group", "tag"].map((scope) => [scope, made(scope)]));
};

const window = "&from=2026-03-02T00:00:00Z&to=2026-03-02T06:00:00Z";

async function anyJob({ prefix }: Named, api: OwnApi): Promise<string> {
  const { json } = await api.send("GET", "/v1/jobs", { query: `prefix=${prefix}&limit=1` });
  return (json as { items: { id: string }[] }).items[0]?.id ?? "";
}

async function newToken(api: OwnApi): Promise<string> {
  const { json } = await api.send("POST", "/v1/tokens", { body: { name: fresh(), scope: "read" } });
  return (json as { id: string }).id;
}

async function deadCommand({ prefix }: Named, api: OwnApi): Promise<string> {
  const [row] = await api.sql<{ id: string }[]>`
    insert into carillon.dead_commands (message_id, place, key, refused_at, refusal, command)
    select gen_random_uuid()::text, 0, ${`${prefix}0`}, carillon.clock(), '{"kind":"invalid","message":"no","faults":[]}',
      jsonb_build_object('delete', ${`${prefix}none`}::text)
    returning id`;
  return row?.id ?? "";
}

async function inboxError({ prefix }: Named, api: OwnApi): Promise<string> {
  const [row] = await api.sql<{ id: string }[]>`
    insert into carillon.inbox_refusals (id, at, refused_at, caller, key, command, problem, faults)
    select coalesce(max(id), 0) + 1, carillon.clock(), carillon.clock(), 'shop', ${`${prefix}0`}, '{}', 'No.', '[]' from carillon.inbox_refusals returning id`;
  return row?.id ?? "";
}

/** Each job of the schedules' parcels ends as dead. */
async function failAll(prefix: string, api: OwnApi): Promise<void> {
  await api.clock.advance(5 * minute);
  const parcels = await api.sql<{ id: string }[]>`
    select distinct p.id from carillon.parcels p join carillon.schedules s on s.id = any(p.schedule_ids) where starts_with(s.key, ${prefix})`;
  for (const { id } of parcels) {
    const parcel = await claimParcel(api.sql, id, minute);
    if (parcel.outcome !== "claimed") continue;
    const dead = { kind: "dead", error: "Error: no", errorClass: "Error", stack: "Error: no" } as const;
    await settleParcel(
      api.sql,
      parcel,
      parcel.jobs.map(() => dead),
    );
  }
}

let made = 0;
const fresh = () => {
  made += 1;
  return `fresh:${made}`;
};

const elsewhere = "https://b.example.com";

async function newMove(api: OwnApi, prefix: string): Promise<string> {
  const { json } = await api.send("POST", "/v1/moves", { body: { prefix, to: elsewhere } });
  return (json as { id: string }).id;
}

async function newArrival(api: OwnApi, prefix: string): Promise<string> {
  const path = `/v1/arrivals/${randomUUID()}`;
  await api.send("PUT", path, { body: { prefix, from: elsewhere } });
  return path;
}

async function step(api: OwnApi, path: string, asked: object): Promise<unknown> {
  return (await api.send("POST", `${path}/steps`, { body: asked })).json;
}

/** A move that holds as many schedules as one step takes at most. */
async function frozen(api: OwnApi, count: number) {
  const prefix = `${fresh()}:`;
  const operations = Array.from({ length: Math.min(count, 200) }, (_, n) => ({
    put: { ...body, key: `${prefix}${n}` },
  }));
  await api.send("POST", "/v1/schedules:batch", { body: { operations } });
  const path = `/v1/moves/${await newMove(api, prefix)}`;
  const { ids } = (await step(api, path, { step: "freeze", after: "", limit: 200 })) as { ids: string[] };
  return { path, prefix, ids };
}

/** A request of each route that concerns all schedules of the prefix where it can. */
const requests: Readonly<Record<string, Made>> = {
  "POST /v1/schedules:batch": ({ prefix, count }) =>
    sent("/v1/schedules:batch", {
      body: {
        operations: Array.from({ length: count }, (_, n) => ({
          put: {
            ...body,
            key: `${prefix}${n}`,
            group: prefix.replace(":", ""),
            tags: [prefix.replace(":", "")],
          },
        })),
      },
    }),
  "POST /v1/schedules": () => sent("/v1/schedules", { body: { ...body, key: fresh() } }),
  "PUT /v1/schedules/{key}": () => sent(`/v1/schedules/${fresh()}`, { body }),
  "PATCH /v1/schedules/{key}": ofKey("", { body: { payload: 1 } }),
  "DELETE /v1/schedules/{key}": async (_, api) => {
    const key = fresh();
    await api.send("PUT", `/v1/schedules/${key}`, { body });
    return sent(`/v1/schedules/${key}`);
  },
  "POST /v1/schedules/{key}/pause": ofKey("/pause"),
  "POST /v1/schedules/{key}/resume": ofKey("/resume"),
  "GET /v1/schedules": search("/v1/schedules"),
  "GET /v1/schedules:count": search("/v1/schedules:count"),
  "GET /v1/schedules/{key}": ofKey(""),
  "POST /v1/schedules:pause": ofAll("pause"),
  "POST /v1/schedules:resume": ofAll("resume"),
  "POST /v1/schedules:patch": ofAll("patch", { patch: { payload: "all" } }),
  "POST /v1/schedules:delete": async ({ prefix, count }, api) => {
    const operations = Array.from({ length: count }, (_, n) => ({
      put: { ...body, key: `gone-${prefix}${n}` },
    }));
    await api.send("POST", "/v1/schedules:batch", { body: { operations } });
    return sent("/v1/schedules:delete", { body: { filter: { prefix: `gone-${prefix}` } } });
  },
  "GET /v1/schedules/{key}/next": ofKey("/next"),
  "POST /v1/preview": same("/v1/preview", { body: { when: "every 1m" } }),
  "GET /v1/schedules/{key}/explain": ofKey("/explain", { query: "at=2026-03-02T00:01:00Z" }),
  "GET /v1/schedules/{key}/versions": ofKey("/versions"),
  "POST /v1/schedules/{key}/versions/{n}/restore": ofKey("/versions/1/restore"),
  "POST /v1/schedules/{key}/fire": ofKey("/fire"),
  "POST /v1/schedules/{key}/backfill": async ({ count }, api) => {
    const key = fresh();
    await api.send("PUT", `/v1/schedules/${key}`, { body });
    const from = api.clock.now();
    await api.clock.advance((count + 1) * minute);
    return sent(`/v1/schedules/${key}/backfill`, {
      body: { from, to: new Date(from.getTime() + count * minute) },
    });
  },
  "POST /v1/jobs": same("/v1/jobs", { body: { target: { queue: "demo" } } }),
  "PUT /v1/calendars/{name}": same("/v1/calendars/days", { body: { weekly: ["sun"] } }),
  "POST /v1/calendars/{name}/preview": same("/v1/calendars/days/preview", { body: { weekly: ["sat"] } }),
  "GET /v1/calendars": same("/v1/calendars"),
  "GET /v1/calendars/{name}": same("/v1/calendars/days"),
  "DELETE /v1/calendars/{name}": async (_, api) => {
    await api.send("PUT", "/v1/calendars/gone", { body: { weekly: ["sun"] } });
    return sent("/v1/calendars/gone");
  },
  "GET /v1/groups": search("/v1/groups"),
  ...Object.fromEntries(
    ["group", "tag"].flatMap((scope) => [
      [`GET /v1/${scope}s/{name}`, label()[scope]],
      [`POST /v1/${scope}s/{name}/pause`, label("/pause")[scope]],
      [`POST /v1/${scope}s/{name}/resume`, label("/resume")[scope]],
      [
        `POST /v1/${scope}s/{name}/cancel`,
        async ({ prefix, count }: Named, api: OwnApi) => {
          const name = `${scope}-${prefix.replace(":", "")}`;
          const labels = scope === "group" ? { group: name } : { tags: [name] };
          const operations = Array.from({ length: count }, (_, n) => ({
            put: { ...body, ...labels, key: `${name}:${n}` },
          }));
          await api.send("POST", "/v1/schedules:batch", { body: { operations } });
          return sent(`/v1/${scope}s/${name}/cancel`);
        },
      ],
    ]),
  ),
  "GET /v1/holds": search("/v1/holds"),
  "GET /v1/schedules/{key}/jobs": ofKey("/jobs"),
  "GET /v1/jobs": search("/v1/jobs"),
  "GET /v1/jobs/{id}": async (of, api) => sent(`/v1/jobs/${await anyJob(of, api)}`),
  "POST /v1/jobs/{id}/cancel": async (of, api) => sent(`/v1/jobs/${await anyJob(of, api)}/cancel`),
  "POST /v1/jobs/{id}/retry": async (of, api) => {
    const id = await anyJob(of, api);
    await api.send("POST", `/v1/jobs/${id}/cancel`);
    return sent(`/v1/jobs/${id}/retry`);
  },
  "POST /v1/jobs:cancel": ({ prefix }) => sent("/v1/jobs:cancel", { body: { filter: { prefix } } }),
  "POST /v1/jobs:retry": async ({ prefix }, api) => {
    await failAll(prefix, api);
    return sent("/v1/jobs:retry", { body: { filter: { prefix, state: "dead" } } });
  },
  "GET /v1/jobs:count": search("/v1/jobs:count"),
  "GET /v1/jobs:states": same("/v1/jobs:states", { query: "entry=1,2,3" }),
  "GET /v1/jobs:groups": search("/v1/jobs:groups"),
  "GET /v1/limits": same("/v1/limits"),
  "GET /v1/limits/{target+}": same("/v1/limits/queue/demo"),
  "PUT /v1/limits/{target+}": same("/v1/limits/queue/demo", { body: { concurrency: 100 } }),
  "DELETE /v1/limits/{target+}": async (_, api) => {
    await api.send("PUT", "/v1/limits/queue/demo", { body: { concurrency: 100 } });
    return sent("/v1/limits/queue/demo");
  },
  "GET /v1/zone-data": same("/v1/zone-data"),
  "GET /v1/zone-data/{version}/moves": same("/v1/zone-data/2026a/moves"),
  "GET /v1/problems": same("/v1/problems"),
  "GET /v1/stats": search("/v1/stats"),
  "GET /v1/forecast": same("/v1/forecast"),
  "GET /v1/series": search("/v1/series"),
  "GET /v1/occurrences": search("/v1/occurrences", window),
  "GET /v1/occurrences:count": search("/v1/occurrences:count", window),
  "GET /v1/occurrences:schedules": search("/v1/occurrences:schedules", `${window}&outcome=planned`),
  "GET /v1/schedules/{key}/occurrences": ofKey("/occurrences"),
  "POST /v1/occurrences:last": ({ prefix }) =>
    sent("/v1/occurrences:last", { body: { keys: Array.from({ length: 20 }, (_, n) => `${prefix}${n}`) } }),
  "GET /v1/tokens": same("/v1/tokens"),
  "GET /v1/tokens/{id}": async (_, api) => sent(`/v1/tokens/${await newToken(api)}`),
  "POST /v1/tokens": () => sent("/v1/tokens", { body: { name: fresh(), scope: "read" } }),
  "POST /v1/tokens/{id}/rotate": async (_, api) => sent(`/v1/tokens/${await newToken(api)}/rotate`),
  "DELETE /v1/tokens/{id}": async (_, api) => sent(`/v1/tokens/${await newToken(api)}`),
  "GET /v1/quotas": same("/v1/quotas"),
  "GET /v1/credential-keys": same("/v1/credential-keys"),
  "POST /v1/credential-keys": same("/v1/credential-keys"),
  "POST /v1/credential-keys/seal-again": same("/v1/credential-keys/seal-again"),
  "POST /v1/moves": () => sent("/v1/moves", { body: { prefix: `${fresh()}:`, to: elsewhere } }),
  "GET /v1/moves": same("/v1/moves"),
  "GET /v1/moves/{id}": async (_, api) => sent(`/v1/moves/${await newMove(api, `${fresh()}:`)}`),
  "DELETE /v1/moves/{id}": async (_, api) => {
    const path = `/v1/moves/${await newMove(api, `${fresh()}:`)}`;
    await step(api, path, { step: "end", abandon: true });
    return sent(path);
  },
  "POST /v1/moves/{id}/steps": async ({ count }, api) => {
    const { path, ids } = await frozen(api, count);
    return sent(`${path}/steps`, { body: { step: "take", schedules: ids } });
  },
  "PUT /v1/arrivals/{id}": () =>
    sent(`/v1/arrivals/${randomUUID()}`, { body: { prefix: `${fresh()}:`, from: elsewhere } }),
  "GET /v1/arrivals/{id}": async (_, api) => sent(await newArrival(api, `${fresh()}:`)),
  "POST /v1/arrivals/{id}/steps": async ({ count }, api) => {
    const { path, prefix, ids } = await frozen(api, count);
    await step(api, path, { step: "take", schedules: ids });
    const { parts } = (await step(api, path, { step: "parts" })) as { parts: { id: string; part: number }[] };
    const named = parts.map(({ id, part }) => ({ id, part }));
    await step(api, path, { step: "confirm", parts: named });
    await step(api, path, { step: "end", abandon: true });
    return sent(`${await newArrival(api, prefix)}/steps`, { body: { step: "bring", parts } });
  },
  "GET /v1/audit": search("/v1/audit"),
  "POST /v1/inbox:apply": async ({ prefix, count }, api) => {
    await api.sql`
      select carillon.send_command(jsonb_build_object('put', jsonb_build_object('key', ${prefix}::text || n, 'when', 'every 1m',
        'target', jsonb_build_object('queue', 'demo')))) from generate_series(1, ${count}::int) n`;
    return sent("/v1/inbox:apply");
  },
  "GET /v1/inbox/errors": same("/v1/inbox/errors"),
  "GET /v1/inbox/errors/{id}": async (of, api) => sent(`/v1/inbox/errors/${await inboxError(of, api)}`),
  "DELETE /v1/inbox/errors/{id}": async (of, api) => sent(`/v1/inbox/errors/${await inboxError(of, api)}`),
  "GET /v1/commands/dead": search("/v1/commands/dead"),
  "GET /v1/commands/dead/{id}": async (of, api) => sent(`/v1/commands/dead/${await deadCommand(of, api)}`),
  "POST /v1/commands/dead/{id}/retry": async (of, api) =>
    sent(`/v1/commands/dead/${await deadCommand(of, api)}/retry`),
  "DELETE /v1/commands/dead/{id}": async (of, api) => sent(`/v1/commands/dead/${await deadCommand(of, api)}`),
  "GET /v1/quarantine": search("/v1/quarantine"),
  "POST /v1/quarantine:retry": async ({ prefix, count }, api) => {
    await api.sql`
      insert into carillon.quarantine (consumer, item, schedule_id, reason, first_at, last_at, tries, next_at)
      select 'ended', s.key, s.id, 'no', carillon.clock(), carillon.clock(), 1, carillon.clock() + interval '1 day'
      from carillon.schedules s where starts_with(s.key, ${prefix}) limit ${count} on conflict do nothing`;
    return sent("/v1/quarantine:retry", { body: { filter: { prefix } } });
  },
  "GET /v1/outages": same("/v1/outages"),
  "GET /v1/token": same("/v1/token"),
  "GET /v1/openapi.json": same("/v1/openapi.json"),
};

export async function requestOf(name: string, of: Named, api: OwnApi): Promise<Sent> {
  const make = requests[name];
  if (make === undefined) throw new Error(`No request is named for ${name}.`);
  return make(of, api);
}
