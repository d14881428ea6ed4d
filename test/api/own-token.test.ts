import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ownTokenSchema } from "../../lib/api/views/own-token-shape.ts";
import { minute } from "../support/instants.ts";
import { type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;

beforeAll(async () => {
  api = await ownApi({ API_RATE: "100/m" });
  api.betweenRequestsMs = 0;
});

afterAll(() => api.stop());

async function issued(body: object): Promise<Record<string, string>> {
  const made = await api.send("POST", "/v1/tokens", { body });
  return { authorization: `Bearer ${(made.json as { token: string }).token}` };
}

async function own(headers: Record<string, string>) {
  const { status, json } = await api.send("GET", "/v1/token", { as: "", headers });
  expect(status).toBe(200);
  return ownTokenSchema.parse(json);
}

const operationsOf = ({ may }: Awaited<ReturnType<typeof own>>) =>
  may.flatMap(({ operations }) => operations.map(({ operation }) => operation));

describe("GET /v1/token", () => {
  test("A token learns its name, scope, prefix, expiry and owner of holds, without its secret", async () => {
    const expiresAt = new Date(api.clock.now().getTime() + 1_000 * minute).toISOString();
    const headers = await issued({ name: "billing", scope: "write", prefix: "billing:", expiresAt });
    expect(await own(headers)).toMatchObject({
      name: "billing",
      scope: "write",
      prefix: "billing:",
      expiresAt,
      holdOwner: "billing",
      signIn: "token",
      createdBy: "adminer",
    });
    const { body } = await api.send("GET", "/v1/token", { as: "", headers });
    expect(body).not.toContain(headers["authorization"]?.slice("Bearer ".length));
  });

  test("A token learns the rate in force, its own or the deployment's, and the units left of it", async () => {
    expect((await own(await issued({ name: "slow", scope: "read", rate: "50/h" }))).rate).toEqual({
      of: "token",
      limit: "50/h",
      left: 49,
    });
    const headers = await issued({ name: "usual", scope: "read" });
    for (let n = 0; n < 3; n++) await own(headers);
    const { rate } = await own(headers);
    expect(rate?.limit).toBe("100/m");
    expect(rate?.left).toBeLessThanOrEqual(96);
    await api.clock.advance(minute);
    expect((await own(headers)).rate?.left).toBeGreaterThanOrEqual(98);
  });

  test("The operations of a token follow its scope, by the names of the OpenAPI document", async () => {
    const read = operationsOf(await own(await issued({ name: "viewer", scope: "read" })));
    expect(read).toEqual(expect.arrayContaining(["getSchedule", "listStats", "getOwnToken"]));
    expect(read).not.toContain("putSchedule");
    const admin = operationsOf(await own(await issued({ name: "all", scope: "admin" })));
    expect(admin).toEqual(expect.arrayContaining([...read, "putSchedule", "createToken", "putCalendar"]));
    const { json } = await api.send("GET", "/v1/openapi.json");
    const { paths } = json as { paths: Record<string, Record<string, { operationId: string }>> };
    const known = Object.values(paths).flatMap((path) =>
      Object.values(path).map(({ operationId }) => operationId),
    );
    expect(known).toEqual(expect.arrayContaining(admin));
  });

  test("The operations of a token with a prefix leave out those that its prefix refuses", async () => {
    const headers = await issued({ name: "team", scope: "admin", prefix: "team:" });
    const may = operationsOf(await own(headers));
    for (const [operation, method, path] of [
      ["putCalendar", "PUT", "/v1/calendars/c"],
      ["listLimits", "GET", "/v1/limits"],
      ["applyInbox", "POST", "/v1/inbox:apply"],
    ] as const) {
      expect(may).not.toContain(operation);
      expect(
        await api.send(method, path, { as: "", headers, ...(method === "PUT" ? { body: {} } : {}) }),
      ).toMatchObject({
        status: 403,
      });
    }
    expect(may).toEqual(expect.arrayContaining(["putSchedule", "getCalendar", "getForecast"]));
  });
});
