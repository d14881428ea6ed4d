import { expect, test } from "vitest";
import { frontOf } from "../support/postgres-front.ts";
import { messageReader } from "../support/postgres-messages.ts";
import { type Issued, issueToken, withToken } from "./issued-token.ts";
import { type OwnApi, ownApi } from "./own-api.ts";

const routes = [
  ["GET", ""],
  ["POST", "/cancel"],
  ["POST", "/retry"],
] as const;

const at = "2026-03-09T10:00:00Z";

async function put(api: OwnApi, key: string, when: string): Promise<string> {
  const { json } = await api.send("PUT", `/v1/schedules/${key}`, {
    body: { when, target: { queue: "demo" } },
  });
  return (json as { id: string }).id;
}

/** The ids of jobs of another prefix, and one of no schedule. */
async function idsOfOthers(api: OwnApi) {
  const daily = await put(api, "theirs:daily", "every 1d");
  const once = await put(api, "theirs:once", `at ${at}`);
  const { json } = await api.send("POST", "/v1/schedules/theirs:daily/fire");
  return {
    made: (json as { id: string }).id,
    planned: `${once}-${Date.parse(at)}-c0`,
    missing: `${daily}-1-c0`,
    none: `999999-${Date.parse(at)}-c0`,
  };
}

test("A read, cancel or retry of another prefix's job takes as many statements as one of a job that does not exist", async () => {
  let sent = 0;
  const count = messageReader("client", (type) => {
    // A simple query, or the execution of a prepared statement.
    if (type === "Q" || type === "E") sent += 1;
  });
  const api = await ownApi({}, "http", (url) => frontOf(url, () => ({ said: count })));
  await api.tick();
  const ids = await idsOfOthers(api);
  const ours = await issueToken(api, { name: "ours", scope: "write", prefix: "ours:" });

  /** A request may also note the use of its token, so the fewest of three count. */
  const statements = async (by: Issued, method: string, path: string) => {
    const taken: number[] = [];
    for (let round = 0; round < 3; round++) {
      sent = 0;
      expect((await api.send(method, path, withToken(by))).status).toBe(404);
      taken.push(sent);
    }
    return Math.min(...taken);
  };

  for (const [method, suffix] of routes) {
    const taken: Record<string, number> = {};
    for (const [name, id] of Object.entries(ids))
      taken[name] = await statements(ours, method, `/v1/jobs/${id}${suffix}`);
    const { none } = taken;
    expect(taken).toEqual({ made: none, planned: none, missing: none, none });
  }
  await api.stop();
});

test("A read, cancel or retry of another prefix's job reads no job", async () => {
  const api = await ownApi();
  await api.tick();
  const { made } = await idsOfOthers(api);
  const ours = await issueToken(api, { name: "ours", scope: "write", prefix: "ours:" });
  await api.sql.begin(async (tx) => {
    await tx`lock table carillon.jobs in access exclusive mode`;
    for (const [method, suffix] of routes) {
      const { status } = await api.send(method, `/v1/jobs/${made}${suffix}`, withToken(ours));
      expect(status).toBe(404);
    }
  });
  await api.stop();
});
