import { expect, test } from "vitest";
import { twoClis } from "./two-clis.ts";

const two = twoClis();

const env = { CARILLON_TO_TOKEN: "admin-token" };

const put = (key: string) =>
  two.old.api.send("PUT", `/v1/schedules/${key}`, { body: { when: "every 1h", target: { queue: "demo" } } });

test("An undo brings back what another command has taken since the move ended at the destination", async () => {
  await put("acme:a");
  const move = (...more: string[]) =>
    two.old.carillon(["move", "--prefix", "acme:", "--to", two.other.url, "--wait", "0s", "--yes", ...more], {
      env,
    });
  expect(await move()).toMatchObject({ code: 0 });
  await put("acme:late");
  const { items } = (await two.old.api.send("GET", "/v1/moves")).json as { items: { id: string }[] };
  const id = items[0]?.id ?? "";
  const step = (body: object) => two.old.api.send("POST", `/v1/moves/${id}/steps`, { body });
  const frozen = (await step({ step: "freeze", after: "", limit: 10 })).json as { ids: string[] };
  await two.other.api.send("POST", `/v1/arrivals/${id}/steps`, { body: { step: "end" } });
  await step({ step: "take", schedules: frozen.ids });
  const { code, err } = await move("--undo");
  expect(code, err).toBe(0);
});

test("While an undo waits for a schedule that cannot move back, the source takes new keys, and --status says so", async () => {
  await put("beta:a");
  const move = (...more: string[]) =>
    two.old.carillon(["move", "--prefix", "beta:", "--to", two.other.url, "--wait", "0s", "--yes", ...more], {
      env,
    });
  expect(await move("--finish")).toMatchObject({ code: 0 });
  const target = { webhook: { url: "https://example.com/in", headers: { authorization: "abc" } } };
  const made = await two.other.api.send("PUT", "/v1/schedules/beta:sealed", {
    body: { when: "every 1h", target },
  });
  expect(made.status).toBe(201);
  expect(await move("--undo")).toMatchObject({ code: 5, err: expect.stringContaining("beta:sealed") });
  expect((await two.old.carillon(["move", "--status", "--prefix", "beta:"])).out).toMatch(/allowed/);
  expect((await put("beta:new")).status).toBe(201);
});
