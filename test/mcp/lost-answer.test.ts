import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type OwnAgents, ownAgents } from "./own-agent.ts";

let agents: OwnAgents;
let front: Server;
/** Whether the front loses the answers of changes. */
let loses = false;
let forwarded = 0;

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
    if (method === "PATCH") forwarded += 1;
    if (loses && method === "PATCH") request.socket.destroy();
    else response.writeHead(answer.status, { "content-type": "application/json" }).end(text);
  });
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
});

afterAll(async () => {
  await agents.stop();
  front.close();
});

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
