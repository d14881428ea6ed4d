import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { rawRequest } from "../local/callers/raw-request.ts";
import { endOf } from "../local/local-stack.ts";
import { failedDev, spawnDev, token } from "./dev-process.ts";
import { handlersFile, newProject, wordsFile } from "./project.ts";

// A start takes seconds, and many times as long on a busy machine.
test("carillon dev --test-clock runs the handlers of the project at times that only requests bring", {
  timeout: 120_000,
}, async () => {
  const project = newProject({ "handlers.ts": handlersFile, "words.ts": wordsFile("no") });
  const child = spawnDev(project.folder, {
    args: ["--port=0", "--hosts=carillon.test", "--test-clock", "2027-03-27T12:00:00Z"],
  });
  const api = await new Promise<string>((resolve, reject) => {
    if (child.stdout !== null)
      createInterface(child.stdout).on("line", (line) => {
        const [, url] = /^carillon ready api=(\S+) clock=2027-03-27T12:00:00\.000Z$/.exec(line) ?? [];
        if (url !== undefined) resolve(url);
      });
    child.once("exit", () => reject(new Error("It has ended.")));
  });
  const call = async (method: string, where: string, body?: object): Promise<unknown> => {
    const answer = await fetch(`${api}${where}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return answer.json();
  };
  await call("PUT", "/v1/schedules/speak", { when: "every 1d", target: { handler: "speak" } });
  expect(await call("POST", "/test/clock", { advance: "3d" })).toEqual({ now: "2027-03-30T12:00:00.000Z" });
  const succeeded = { key: "speak", state: "succeeded" };
  expect(await call("GET", "/test/jobs")).toMatchObject({ items: [succeeded, succeeded, succeeded] });
  const healthOf = async (...headers: (readonly [string, string])[]) =>
    (await rawRequest(Number(new URL(api).port), { line: "GET /health", headers })).status;
  expect(await healthOf(["Host", "carillon.test"])).toBe(200);
  expect(await healthOf(["Host", "evil.example"])).toBe(403);
  expect(await healthOf(["Host", "localhost"], ["Origin", "http://localhost:3000"])).toBe(403);
  expect(await endOf(child, "SIGTERM")).toEqual({ code: 0, signal: null });
  project.remove();
});

test.each(["on", "2027-03-27T12:00:00"])(
  "carillon dev --test-clock %s is refused, and the answer says what it takes",
  async (instant) => {
    const project = newProject({});
    const { code, said } = await failedDev(project.folder, { args: ["--test-clock", instant] });
    expect([code, said]).toEqual([2, expect.stringContaining("--test-clock takes the instant")]);
    project.remove();
  },
);
