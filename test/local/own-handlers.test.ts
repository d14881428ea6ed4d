import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { until } from "../support/until.ts";
import { endOf, type StackProcess, spawnStart } from "./local-stack.ts";
import { eachItsOwnStack } from "./stack-reads.ts";

const modules = path.join(import.meta.dirname, "..", "..", "node_modules");

const handlersFile = `
import { defineJob, giveUp, type JobHandler } from "carillon/job";
import { z } from "zod";
import { sentence } from "./sentence.ts";

export const handlers: readonly JobHandler[] = [
  defineJob({
    name: "speak",
    payload: z.object({ to: z.string() }),
    run: async ({ payload }) => {
      throw giveUp(sentence(payload.to));
    },
  }),
];
`;

const sentence = (greeting: string) =>
  `export const sentence = (to: string): string => \`${greeting}, \${to}.\`;\n`;

// A start takes seconds, and many times as long on a busy machine.
describe("npm start with an app's own handlers", { timeout: 120_000 }, () => {
  const own = eachItsOwnStack();

  /** An app beside the data directory: a file of handlers, and one that it imports. */
  function app(): { file: string; write: (name: string, text: string) => void } {
    const folder = path.join(path.dirname(own.dataDir), "app");
    mkdirSync(folder, { recursive: true });
    symlinkSync(modules, path.join(folder, "node_modules"));
    const write = (name: string, text: string) => writeFileSync(path.join(folder, name), text);
    write("package.json", '{ "name": "app", "type": "module" }');
    write("sentence.ts", sentence("Hello"));
    write("handlers.ts", handlersFile);
    return { file: path.join(folder, "handlers.ts"), write };
  }

  /** Runs the handler, and returns the error with which its job died. */
  async function said(stack: StackProcess, key: string): Promise<string | null> {
    const body = { target: { handler: "speak" }, payload: { to: "Ann" }, key };
    const made = await stack.request("POST", "/v1/jobs", body);
    expect(made.status).toBe(202);
    const { id } = z.object({ id: z.string() }).parse(await made.json());
    return until(`the job ${id} is dead`, async () => {
      const job = await (await stack.request("GET", `/v1/jobs/${id}`)).json();
      const { state, error } = z.object({ state: z.string(), error: z.string().nullable() }).parse(job);
      return state === "dead" ? error : undefined;
    });
  }

  const printed = (stack: StackProcess, text: string) =>
    until(`the stack has printed ${text}`, async () => (stack.printed().includes(text) ? true : undefined));

  test("The app's file runs as it is, a change of what it imports counts at once, and a broken change keeps the handlers before", async () => {
    const { file, write } = app();
    const stack = await own.start({ CARILLON_HANDLERS: file });
    expect(stack.printed()).toContain(`handlers of ${file}: speak`);
    expect(await said(stack, "first")).toContain("Hello, Ann.");

    write("sentence.ts", sentence("Good morning"));
    await printed(stack, "handlers loaded again: speak");
    expect(await said(stack, "second")).toContain("Good morning, Ann.");

    write("sentence.ts", "export const sentence = (;\n");
    await printed(stack, "the changed handlers could not be loaded, and the ones before stay: ");
    expect(await said(stack, "third")).toContain("Good morning, Ann.");

    const unfit = { when: "in 1h", target: { handler: "speak" }, payload: { to: 1 } };
    expect((await stack.request("PUT", "/v1/schedules/unfit", unfit)).status).toBe(422);
    write("handlers.ts", handlersFile.replace("to: z.string()", "to: z.number()"));
    write("sentence.ts", "export const sentence = (to: number): string => String(to);\n");
    await until("the payload's new schema counts", async () => {
      const { status } = await stack.request("PUT", "/v1/schedules/unfit", unfit);
      return status === 201 ? true : undefined;
    });
  });

  test.each([
    ["that is missing", null, "there is no file"],
    ["without handlers", "export const handler = 1;\n", "exports no array `handlers`"],
    [
      "with something else among the handlers",
      "export const handlers = [{}];\n",
      "handlers[0] was not made by `defineJob`",
    ],
    [
      "with a name twice",
      handlersFile.replace("];", "]\n.flatMap((each) => [each, each]);"),
      "exports two handlers with the name speak",
    ],
  ])("A file %s ends the start with a sentence", async (_, text, sentenceOfIt) => {
    const { file, write } = app();
    if (text !== null) write("own.ts", text);
    const child = spawnStart(own.dataDir, { CARILLON_HANDLERS: path.join(path.dirname(file), "own.ts") });
    const chunks: string[] = [];
    child.stderr?.on("data", (chunk) => chunks.push(String(chunk)));
    expect((await endOf(child)).code).toBe(1);
    expect(chunks.join("")).toContain(sentenceOfIt);
    expect(chunks.join("").trimEnd().split("\n")).toHaveLength(1);
  });
});
