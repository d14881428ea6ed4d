import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import * as z from "zod";
import { Carillon } from "../../lib/client/main.ts";
import { changingTool, readTool, type Tool } from "../../lib/mcp/tool.ts";

let begun = Promise.withResolvers<AbortSignal>();

/** A tool whose API never answers. */
const silent = {
  name: "silent",
  title: "Silent",
  description: "Waits until it is stopped.",
  input: z.strictObject({}),
  run: (_: object, { signal }: { signal: AbortSignal }) =>
    new Promise<never>((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
      begun.resolve(signal);
    }),
};

async function clientOf(tool: Tool, answerWithinMs: number): Promise<Client> {
  const server = new McpServer({ name: "test", version: "1" });
  const client = new Client({ name: "test", version: "1" });
  const [ofServer, ofClient] = InMemoryTransport.createLinkedPair();
  tool.addTo(server, {
    client: new Carillon({ url: "http://127.0.0.1:1", token: "t" }),
    instant: (text) => text,
    now: () => 0,
    answerWithinMs,
  });
  await server.connect(ofServer);
  await client.connect(ofClient);
  return client;
}

test.each([
  ["read", readTool(silent), /^The API has not answered within 0\.001 seconds\.$/],
  [
    "change",
    changingTool(silent),
    /^The API has not answered within 0\.001 seconds\. Whether the change was made/,
  ],
])("A %s that gets no answer in time is a failed result", async (_, tool, sentence) => {
  const client = await clientOf(tool, 1);
  const { content, isError } = await client.callTool({ name: "silent", arguments: {} });
  expect([isError, content]).toEqual([true, [{ type: "text", text: expect.stringMatching(sentence) }]]);
  await client.close();
});

test("A call that the agent cancels stops the requests of its tool", async () => {
  const client = await clientOf(readTool(silent), 60_000);
  begun = Promise.withResolvers();
  const cancel = new AbortController();
  const called = client.callTool({ name: "silent", arguments: {} }, { signal: cancel.signal });
  const signal = await begun.promise;
  const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  cancel.abort("enough");
  await expect(called).rejects.toThrow();
  await stopped;
  await client.close();
});
