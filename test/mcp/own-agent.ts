import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import type { Clock } from "../../lib/clock.ts";
import { type OwnCli, ownCli } from "../cli/own-cli.ts";

const main = path.join(import.meta.dirname, "..", "..", "lib", "cli", "main.ts");

/** The result of a call of a tool. */
export interface Called {
  text: string;
  data: Record<string, unknown>;
  isError: boolean;
}

/** An agent's session with `carillon mcp` as a process of its own, over stdin and stdout. */
export interface Agent {
  client: Client;
  call(tool: string, given?: Record<string, unknown>): Promise<Called>;
  /** The previewed call, and then the same with its token. */
  confirm(tool: string, given: Record<string, unknown>): Promise<Called>;
  /** Moves the clock of the process. */
  passTime(ms: number): void;
  /** All that the process has written to stderr. */
  notes(): string;
  close(): Promise<void>;
}

export interface AgentParts {
  args?: readonly string[];
  env?: Record<string, string>;
  /** The built program, where the source is not run. */
  program?: string;
  /** The revision of 2026 begins without the handshake of the earlier ones. */
  era?: "legacy" | "auto";
}

/** The API, and sessions of agents with it. */
export interface OwnAgents {
  cli: OwnCli;
  agent(parts?: AgentParts): Promise<Agent>;
  stop(): Promise<void>;
}

export async function ownAgents(): Promise<OwnAgents> {
  const cli = await ownCli();
  const folder = mkdtempSync(path.join(tmpdir(), "carillon-mcp-"));
  const open: Agent[] = [];
  return {
    cli,
    agent: async (parts) => {
      const agent = await startAgent(cli, path.join(folder, `time-${open.length}`), parts);
      open.push(agent);
      return agent;
    },
    stop: async () => {
      for (const agent of open) await agent.close();
      await cli.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

async function startAgent(
  cli: OwnCli,
  timeFile: string,
  { args = [], env = {}, program = main, era = "legacy" }: AgentParts = {},
): Promise<Agent> {
  writeFileSync(timeFile, "0");
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: ["--import", withTimeOf(cli.api.clock, timeFile), program, "mcp", ...args],
    env: {
      PATH: process.env["PATH"] ?? "",
      CARILLON_URL: cli.url,
      CARILLON_TOKEN: "admin-token",
      TZ: "UTC",
      ...env,
    },
    stderr: "pipe",
  });
  let notes = "";
  transport.stderr?.on("data", (text: Buffer) => {
    notes += text.toString();
  });
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: era } });
  // A line that is not of the protocol would arrive here.
  client.onerror = (error) => {
    notes += error.message;
  };
  await client.connect(transport);
  const call = async (name: string, given: Record<string, unknown> = {}): Promise<Called> => {
    const result = await client.callTool({ name, arguments: given });
    const [first] = result.content;
    return {
      text: first?.type === "text" ? first.text : "",
      data: { ...Object(result.structuredContent) },
      isError: result.isError === true,
    };
  };
  return {
    client,
    call,
    confirm: async (tool, given) => {
      const { data, text } = await call(tool, given);
      if (typeof data["confirm"] !== "string") throw new Error(`The preview gave no token: ${text}`);
      return call(tool, { ...given, confirm: data["confirm"] });
    },
    passTime: (ms) => writeFileSync(timeFile, String(ms)),
    notes: () => notes,
    close: () => client.close(),
  };
}

/** A module that gives a process the API's time, and the time that a test adds in a file. */
function withTimeOf(clock: Clock, file: string): string {
  const ahead = clock.now().getTime() - Date.now();
  const code = `import { readFileSync } from "node:fs"; const now = Date.now; Date.now = () => now() + ${ahead} + Number(readFileSync(${JSON.stringify(file)}, "utf8"));`;
  return `data:text/javascript,${encodeURIComponent(code)}`;
}
