import { afterAll, beforeAll, expect, test } from "vitest";
import { stackName } from "../../lib/token/principal.ts";
import { tokenNameFault } from "../../lib/token/token-name.ts";
import { httpEvent } from "./http-event.ts";
import { type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;
let closed: OwnApi;
beforeAll(async () => {
  api = await ownApi({ STACK_CALLERS: "true" });
  closed = await ownApi();
});
afterAll(async () => {
  await api.stop();
  await closed.stop();
});

const caller = { name: "Shop", account: "123456789012" };
const body = { when: "every 1h", target: { queue: "demo" } };

/** Sends a request as the function of stacks does, which invokes the API's function itself. */
async function send(to: OwnApi, method: string, path: string, context: object = { carillonStack: caller }) {
  const event = httpEvent(method, path, { body: method === "GET" ? undefined : body });
  Object.assign(event.requestContext, context);
  return to.invoke(event);
}

test("A stack puts, reads and deletes a schedule without a token, under its own name", async () => {
  expect(await send(api, "PUT", "/v1/schedules/a")).toMatchObject({ statusCode: 201 });
  const { body: text } = await send(api, "GET", "/v1/schedules/a");
  expect(JSON.parse(text)).toMatchObject({ createdBy: "stack:Shop" });
  expect(await send(api, "DELETE", "/v1/schedules/a")).toMatchObject({ statusCode: 204 });
});

test("An API without STACK_CALLERS asks a stack for a token too", async () => {
  expect(await send(closed, "PUT", "/v1/schedules/a")).toMatchObject({ statusCode: 401 });
});

test.each([
  ["GET", "/v1/schedules"],
  ["GET", "/v1/tokens"],
  ["PATCH", "/v1/schedules/a"],
  ["POST", "/v1/schedules/a/fire"],
  ["PUT", "/v1/calendars/a"],
  ["POST", "/v1/schedules:delete"],
])("A stack gets 403 for %s %s, because it may do single schedules alone", async (method, path) => {
  expect(await send(api, method, path)).toMatchObject({ statusCode: 403 });
});

test.each([
  { authorizer: { carillonStack: caller } },
  { authorizer: { lambda: { carillonStack: caller } } },
  { carillonStack: { ...caller, name: "no stack" } },
  { carillonStack: "Shop" },
])("A context such as %j names no stack", async (context) => {
  expect(await send(api, "GET", "/v1/schedules/a", context)).toMatchObject({ statusCode: 401 });
});

test("A token cannot have the name of a stack, and the name of every stack can be that of a caller", async () => {
  expect(tokenNameFault("stack:Shop")).toMatch(/`stack:`/);
  expect(tokenNameFault("Stack:Shop")).toMatch(/`stack:`/);
  const [long, other] = ["a".repeat(128), `${"a".repeat(127)}b`];
  expect(stackName(long)).toHaveLength(100);
  expect(stackName(long)).not.toBe(stackName(other));
  await send(api, "PUT", "/v1/schedules/b", { carillonStack: { ...caller, name: long } });
  expect((await api.send("GET", "/v1/schedules/b")).json).toMatchObject({ createdBy: stackName(long) });
});
