import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApiAnswer, type OwnApi, ownApi } from "../api/own-api.ts";

let api: OwnApi;
beforeAll(async () => {
  api = await ownApi();
});
afterAll(() => api.stop());

const unshipped = { when: "every 1h", target: { handler: "order-unshipped" } };
const fits = { orderId: 7 };

const put = (key: string, body: object) => api.send("PUT", `/v1/schedules/${key}`, { body });
const patch = (key: string, body: object) => api.send("PATCH", `/v1/schedules/${key}`, { body });

function expectRefused(answer: ApiAnswer, paths: string[]): void {
  expect(answer).toMatchObject({ status: 422, json: { errors: paths.map((path) => ({ path })) } });
}

describe("a payload that does not fit the handler's schema is refused", () => {
  const bad = { orderId: "", escalateAfter: "soon" };
  const paths = ["payload.orderId", "payload.escalateAfter"];

  test("a payload that does not fit is refused when a schedule is put, with every fault and its path, and nothing is stored", async () => {
    expectRefused(await put("put", { ...unshipped, payload: bad }), paths);
    expect(await api.send("GET", "/v1/schedules/put")).toMatchObject({ status: 404 });
  });

  test("a missing payload is refused if the handler's schema needs one", async () => {
    expectRefused(await put("put", unshipped), ["payload"]);
  });

  test("a payload that does not fit is refused when a schedule is posted or previewed", async () => {
    expectRefused(await api.send("POST", "/v1/schedules", { body: { ...unshipped, payload: bad } }), paths);
    expectRefused(await api.send("POST", "/v1/preview", { body: { ...unshipped, payload: bad } }), paths);
  });

  test("a payload that does not fit is refused when a patch brings it, or names another handler", async () => {
    expect(await put("patched", { ...unshipped, payload: fits })).toMatchObject({ status: 201 });
    expectRefused(await patch("patched", { payload: { orderId: null } }), ["payload.orderId"]);
    expectRefused(await patch("patched", { target: { handler: "greet" } }), ["payload.orderId"]);
    expect(await patch("patched", { payload: { orderId: "8" } })).toMatchObject({ status: 200 });
  });

  test("a manual fire with a payload that does not fit is refused; without a payload it uses the schedule's", async () => {
    await put("fired", { ...unshipped, payload: fits });
    const fire = (body?: object) =>
      api.send("POST", "/v1/schedules/fired/fire", body === undefined ? {} : { body });
    expectRefused(await fire({ payload: bad }), paths);
    expectRefused(await fire({ payload: null }), ["payload"]);
    expect(await fire({ payload: { orderId: 9 } })).toMatchObject({ status: 202 });
    expect(await fire()).toMatchObject({ status: 202 });
  });

  test("a version with a payload that does not fit is not restored", async () => {
    await put("restored", { ...unshipped, payload: fits });
    await patch("restored", { payload: { orderId: 8 } });
    await api.sql`
      update carillon.schedule_versions v set payload = '{"orderId": null}'
      from carillon.schedules s where s.key = 'restored' and v.schedule_id = s.id and v.version = 1`;
    expectRefused(await api.send("POST", "/v1/schedules/restored/versions/1/restore"), ["payload.orderId"]);
  });
});

describe("a payload that fits the handler's schema", () => {
  test("a payload is stored as the caller sent it, without the defaults of the handler's schema", async () => {
    const payload = { orderId: 7, note: "x" };
    expect(await put("stored", { ...unshipped, payload })).toMatchObject({ status: 201, json: { payload } });
  });

  test("a stored payload that no longer fits does not fail a patch of another field", async () => {
    await put("aged", { ...unshipped, payload: fits });
    await api.sql`
      update carillon.schedule_versions v set payload = '{"orderId": null}'
      from carillon.schedules s where s.key = 'aged' and v.schedule_id = s.id`;
    expect(await patch("aged", { description: "still runs" })).toMatchObject({ status: 200 });
  });

  test("a payload is not checked if the target is no handler", async () => {
    expect(
      await put("queue", { when: "every 1h", target: { queue: "q" }, payload: { orderId: null } }),
    ).toMatchObject({
      status: 201,
    });
  });
});
