import { command } from "../command.ts";
import { instantFrom } from "../input.ts";

export const mcpCommand = command({
  name: "mcp",
  group: "Operation",
  summary: "Serve this API to an AI agent, as tools of the Model Context Protocol over stdin and stdout",
  usage: "",
  about:
    "The tools read: schedules, runs and their explanations, agenda, forecast, jobs, problems, audit. With --write they also put, patch, hold, release, retry and cancel; each such call previews first and acts only when it is confirmed by the token of its preview. The agent starts this command itself: docs/mcp.md has its configuration.",
  words: { min: 0, max: 0 },
  options: { write: { about: "Offer the tools that change something, too" } },
  examples: ["carillon mcp", "carillon mcp --write"],
  run: async (call) => {
    const { given, client, out, now, signal } = call;
    // Loaded here, so that the SDK costs the other commands no time.
    const { serveMcp } = await import("../../mcp/serve.ts");
    await serveMcp({
      client,
      now,
      signal,
      streams: call.streams(),
      version: call.version,
      writes: given.flag("write"),
      instant: (text, argument) => instantFrom(call, text, argument) ?? text,
      note: (text) => out.note(text),
    });
  },
});
