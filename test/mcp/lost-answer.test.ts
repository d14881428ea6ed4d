import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { beside } from "./beside.ts";
import { type Agent, type OwnAgents, ownAgents } from "./own-agent.ts";

let agents: OwnAgents;
let front: Server;
/** Whether the front loses the answers of changes. */
let loses = false;
/** Whether the front answers for the API that it is not available. */
let isBusy = false;
let forwarded = 0;
const busy = JSON.stringify({
  type: "urn:carillon:problem:unavailable",
  title: "Not available",
  status: 503,
  detail: "Busy.",
});

beforeAll(async () => {
  agents = await ownAgents();
  front = createServer(async (request, response) => {
    const method = request.method ?? "GET";
    const chunks = await Array.fromAsync(request as AsyncIterable<Buffer>);
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    );
    const body = method === "GET" ? {} : { body: Buffer.concat(chunks) };
    const answer = await fetch(`${agents.cli.url}${request.url}`, { method, headers, ...body });
    const text = await answer.text();
    const changes = method === "PATCH" || request.url?.endsWith("/retry") === true;
    if (changes) forwarded += 1;
    if (isBusy && changes)
      response.writeHead(503, { "content-type": "application/problem+json", "retry-after": "120" }).end(busy);
    else if (loses && changes) request.socket.destroy();
    else response.writeHead(answer.status, { "content-type": "application/json" }).end(text);
  });
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
});

afterAll(async () => {
  await agents.stop();
  front.close();
});

async function throughFront(): Promise<Agent> {
  const { port } = front.address() as AddressInfo;
  return agents.agent({ args: ["--write"], env: { CARILLON_URL: `http://127.0.0.1:${port}` } });
}

test("A confirmed change whose answer is lost can be repeated with its token, and is made once", async () => {
  const { api } = agents.cli;
  await api.send("PUT", "/v1/schedules/a", { body: { when: "every 1h", target: { queue: "demo" } } });
  const { port } = front.address() as AddressInfo;
  const agent = await agents.agent({ args: ["--write"], env: { CARILLON_URL: `http://127.0.0.1:${port}` } });
  const given = { key: "a", patch: { description: "once" } };
  const { data } = await agent.call("patch_schedule", given);
  const confirmed = { ...given, confirm: data["confirm"] };
  loses = true;
  const lost = await agent.call("patch_schedule", confirmed);
  expect(lost).toMatchObject({ isError: true, data: { error: { done: "unknown" } } });
  expect(lost.text).toMatch(/does not answer: .*\nWhether the change was made is not known\./);
  loses = false;
  expect((await agent.call("patch_schedule", confirmed)).text).toMatch(/^Changed a: version 2/);
  expect(forwarded).toBeGreaterThan(1);
  const { json } = await api.send("GET", "/v1/schedules/a/versions");
  expect((json as { items: unknown[] }).items).toHaveLength(2);
  expect((await agent.call("patch_schedule", confirmed)).text).toMatch(/^The token was used already/);
});

test("A confirmed retry of a job whose answer is lost can be repeated, although the job has changed by it", async () => {
  const person = beside(agents.cli);
  await person.send("PUT", "/v1/schedules/b", { when: "every 1h", target: { queue: "demo" } });
  await person.dies("b");
  const [job] = await person.jobsOf("b");
  const agent = await throughFront();
  const { data } = await agent.call("retry_jobs", { id: job?.id });
  const confirmed = { id: job?.id, confirm: data["confirm"] };
  loses = true;
  expect((await agent.call("retry_jobs", confirmed)).isError).toBe(true);
  loses = false;
  expect((await agent.call("retry_jobs", confirmed)).text).toMatch(/^Done: \S+ b: retrying/);
});

test("A confirmed change that the API answers with 503 can be repeated with its token", async () => {
  await beside(agents.cli).send("PUT", "/v1/schedules/c", { when: "every 1h", target: { queue: "demo" } });
  const agent = await throughFront();
  const given = { key: "c", patch: { description: "later" } };
  const { data } = await agent.call("patch_schedule", given);
  const confirmed = { ...given, confirm: data["confirm"] };
  isBusy = true;
  const failed = await agent.call("patch_schedule", confirmed);
  expect([failed.isError, failed.text]).toEqual([
    true,
    "Busy. (503)\nThis may pass: try the same call again later.",
  ]);
  isBusy = false;
  expect((await agent.call("patch_schedule", confirmed)).text).toMatch(/^Changed c: version 2/);
});
