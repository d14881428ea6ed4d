import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import type { Webhook } from "../../lib/schedule/shape/webhook-credentials.ts";
import { openedWebhook } from "../sealing/opened-webhook.ts";
import { type ApiAnswer, type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;
beforeAll(async () => {
  api = await ownApi({
    TARGET_ACCOUNT: "000000000000",
    TARGET_QUEUES: "arn:aws:sqs:us-east-1:000000000000:carillon-target-*",
    TARGET_BUSES: "arn:aws:events:us-east-1:000000000000:event-bus/default",
    TARGET_FUNCTIONS: "arn:aws:lambda:us-east-1:000000000000:function:carillon-target-*",
  });
});
afterAll(() => api.stop());

const secretOf = (seed: number) => `whsec_${Buffer.alloc(32, seed).toString("base64")}`;
const credential = "Bearer canary-in-a-header";
const url = "https://example.com/hook";
const hook = (parts: object = {}) => ({ webhook: { url, ...parts } });

const send = (method: string, target: string, body?: unknown): Promise<ApiAnswer> => {
  const [path = "", query = ""] = target.split("?");
  return api.send(method, path, { query, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
};
const put = (key: string, target: unknown, rest: object = {}) =>
  send("PUT", `/v1/schedules/${key}`, { when: "every 1h", target, ...rest });

const problem = z.object({ errors: z.array(z.object({ path: z.string(), message: z.string() })) });
const faultPaths = ({ json }: ApiAnswer) => problem.parse(json).errors.map(({ path }) => path);
const targetOf = ({ json }: ApiAnswer) => z.object({ target: z.unknown() }).parse(json).target;

const isWebhook = (target: unknown): target is { webhook: Webhook } =>
  z.object({ webhook: z.looseObject({ secret: z.array(z.string()).optional() }) }).safeParse(target).success;
async function storedWebhook(key: string) {
  const [row] = await api.sql<{ target: unknown }[]>`
    select v.target from carillon.schedules s
    join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.spec_version
    where s.key = ${key} and s.deleted_at is null`;
  if (!isWebhook(row?.target)) throw new Error(`${key} has no webhook.`);
  return openedWebhook(api.sql, row.target.webhook);
}

describe("the credentials of a webhook", () => {
  const first = hook({ headers: { Authorization: credential, "x-kind": "order" }, secret: secretOf(1) });
  const shown = {
    webhook: { url, method: "POST", headers: { Authorization: "***", "x-kind": "order" }, secret: "***" },
  };

  test("Credentials appear in no answer and in no audit entry", async () => {
    const answers = [
      await put("silent", first),
      await send("GET", "/v1/schedules/silent"),
      await send("GET", "/v1/schedules?prefix=silent"),
      await send("PATCH", "/v1/schedules/silent", { description: "x" }),
      await send("PATCH", "/v1/schedules/silent", { target: hook({ secret: [secretOf(2), "***"] }) }),
      await send("PATCH", "/v1/schedules/silent", { target: { webhook: null, queue: "carillon-target-a" } }),
      await send("POST", "/v1/schedules/silent/versions/1/restore"),
      await send("GET", "/v1/schedules/silent/versions"),
      await send("GET", "/v1/schedules/silent/explain?at=2030-01-01T00:00:00Z"),
      await send("GET", "/v1/schedules/silent/next"),
      await send("POST", "/v1/schedules/silent/fire"),
      await send("GET", "/v1/schedules/silent/jobs"),
      await send("POST", "/v1/preview", { when: "every 1h", target: first }),
      await put("silent", hook({ secret: `${secretOf(1)}=`, headers: { Authorization: `${credential}\n` } })),
    ];
    expect(answers.map(({ status }) => status)).toEqual([
      201, 200, 200, 200, 200, 200, 200, 200, 200, 200, 202, 200, 200, 400,
    ]);
    const said = answers.map(({ body, headers }) => body + JSON.stringify(headers)).join();
    const audit = await api.sql`select * from carillon.audit`;
    for (const canary of [secretOf(1), secretOf(2), "canary"]) {
      expect(said).not.toContain(canary);
      expect(JSON.stringify(audit)).not.toContain(canary);
    }
    expect(answers.slice(0, 2).map(targetOf)).toEqual([shown, shown]);
    expect(await storedWebhook("silent")).toMatchObject({
      secret: [secretOf(1)],
      headers: { Authorization: credential },
    });
  });

  test("Putting a schedule back as it was read keeps its credentials and changes nothing", async () => {
    await put("as-read", first);
    const read = await send("GET", "/v1/schedules/as-read");
    const again = await put("as-read", targetOf(read));
    expect([again.status, again.headers["etag"]]).toEqual([200, '"1"']);
    expect(await storedWebhook("as-read")).toMatchObject({ secret: [secretOf(1)] });
  });

  test("A patch keeps credentials that it does not name, and removes them with null", async () => {
    await put("patched", first);
    await send("PATCH", "/v1/schedules/patched", { target: hook({ url: `${url}/2`, headers: { a: "b" } }) });
    expect(await storedWebhook("patched")).toEqual({
      url: `${url}/2`,
      method: "POST",
      headers: { Authorization: credential, "x-kind": "order", a: "b" },
      secret: [secretOf(1)],
    });
    await send("PATCH", "/v1/schedules/patched", {
      target: { webhook: { secret: null, headers: { Authorization: null } } },
    });
    expect(await storedWebhook("patched")).toEqual({
      url: `${url}/2`,
      method: "POST",
      headers: { "x-kind": "order", a: "b" },
    });
  });

  test("A caller that does not know the old secret can set a new one and keep the old one as the second", async () => {
    await put("rotated", first);
    await send("PATCH", "/v1/schedules/rotated", { target: { webhook: { secret: [secretOf(3), "***"] } } });
    expect((await storedWebhook("rotated")).secret).toEqual([secretOf(3), secretOf(1)]);
    const versions = await send("GET", "/v1/schedules/rotated/versions");
    const page = z
      .object({ items: z.array(z.object({ changes: z.array(z.unknown()) })) })
      .parse(versions.json);
    expect(page.items[0]?.changes).toEqual([{ path: "target.webhook.secret" }]);
    await send("PATCH", "/v1/schedules/rotated", { target: { webhook: { secret: [secretOf(4), "***"] } } });
    expect((await storedWebhook("rotated")).secret).toEqual([secretOf(4), secretOf(3)]);
  });

  test("Credentials cannot be redirected to another host by a caller that cannot read them", async () => {
    await put("moved", first);
    const evil = { url: "https://evil.example/" };
    const refused = [
      await send("PATCH", "/v1/schedules/moved", { target: { webhook: evil } }),
      await put("moved", hook({ ...evil, secret: "***", headers: { Authorization: "***" } })),
      await put("new", hook({ secret: "***" })),
    ];
    expect(refused.map(({ status }) => status)).toEqual([422, 422, 422]);
    expect(refused.map(faultPaths)).toEqual([
      ["target.webhook.headers.Authorization", "target.webhook.secret"],
      ["target.webhook.headers.Authorization", "target.webhook.secret"],
      ["target.webhook.secret"],
    ]);
    const anew = { ...evil, secret: secretOf(5), headers: { Authorization: null } };
    expect((await send("PATCH", "/v1/schedules/moved", { target: { webhook: anew } })).status).toBe(200);
    expect(await storedWebhook("moved")).toMatchObject({
      secret: [secretOf(5)],
      headers: { "x-kind": "order" },
    });
  });
});

describe("targets that the deployment does not allow", () => {
  test.each<[unknown, string]>([
    [{ queue: "orders" }, "target.queue"],
    [{ event: { bus: "orders" } }, "target.event.bus"],
    [{ lambda: "resize" }, "target.lambda"],
    [{ webhook: { url: "http://169.254.169.254/latest/meta-data/" } }, "target.webhook.url"],
  ])("A target that is not allowed is refused on every route: %j", async (target, path) => {
    const key = `forbidden-${path}`;
    expect((await put(key, { queue: "carillon-target-a" })).status).toBe(201);
    const refused = [
      await put(key, target),
      await send("POST", "/v1/schedules", { when: "every 1h", target }),
      await send("PATCH", `/v1/schedules/${key}`, { target: { queue: null, ...Object(target) } }),
      await send("POST", "/v1/preview", { when: "every 1h", target }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([422, 422, 422, 422]);
    expect(refused.map(faultPaths)).toEqual(Array(4).fill([path]));
  });

  test("Restoring a version with a forbidden target is refused, and a patch of other fields keeps it", async () => {
    await put("narrowed", { queue: "carillon-target-a" });
    await api.sql`
      update carillon.schedule_versions set target = '{"queue":"orders"}'
      where schedule_id = (select id from carillon.schedules where key = 'narrowed')`;
    expect((await send("PATCH", "/v1/schedules/narrowed", { description: "x" })).status).toBe(200);
    expect((await put("narrowed", { queue: "carillon-target-b" })).status).toBe(200);
    const restored = await send("POST", "/v1/schedules/narrowed/versions/1/restore");
    expect([restored.status, faultPaths(restored)]).toEqual([422, ["target.queue"]]);
  });

  test("A preview without a target is not checked for allowed targets", async () => {
    expect((await send("POST", "/v1/preview", { when: "every 1h" })).status).toBe(200);
    expect((await send("POST", "/v1/preview", { when: "every 1h", delivery: "pulse" })).status).toBe(200);
  });
});
