import type { McpServer } from "@modelcontextprotocol/server";
import type * as z from "zod";
import type { Carillon } from "../client/main.ts";
import { answerOf, failureOf, lostWrite, type Told } from "./answer.ts";

/** The parts of a session that every tool uses. */
export interface ToolParts {
  client: Carillon;
  /** An instant as the CLI reads it, such as `2h ago`, in ISO 8601; `argument` is named in the fault. */
  instant(text: string, argument: string): string;
  now(): number;
  /** The time for a call with its retries; agents give up after 60 seconds. */
  answerWithinMs: number;
}

/** The context of one call. */
export interface ToolCall extends ToolParts {
  /** Aborted when the agent cancels the call. */
  signal: AbortSignal;
  /** The instant of an argument, if it is given. */
  instantOf(text: string | undefined, argument: string): string | undefined;
}

interface ToolText {
  /** A verb and a noun, in snake case, as agents expect. */
  name: string;
  title: string;
  /** For the agent: when to use it, and what it answers. */
  description: string;
}

export interface ToolSpec<Input extends z.ZodObject> extends ToolText {
  input: Input;
  run(given: z.output<Input>, call: ToolCall): Promise<Told>;
}

/** A tool without the types of its input. */
export interface Tool extends ToolText {
  addTo(server: McpServer, parts: ToolParts): void;
}

export function readTool<Input extends z.ZodObject>(spec: ToolSpec<Input>): Tool {
  return toolWith(spec, { readOnlyHint: true });
}

/** A tool that changes something. Its token is used once, so a repeat of a call changes nothing more. */
export function changingTool<Input extends z.ZodObject>(spec: ToolSpec<Input>): Tool {
  return toolWith(spec, { readOnlyHint: false, destructiveHint: true, idempotentHint: true });
}

class NoAnswer extends Error {
  override readonly name = "NoAnswer";

  constructor(answerWithinMs: number, isRead: boolean) {
    super(
      `The API has not answered within ${answerWithinMs / 1_000} seconds.${isRead ? "" : ` ${lostWrite}`}`,
    );
  }
}

function toolWith<Input extends z.ZodObject>(
  { name, title, description, input, run }: ToolSpec<Input>,
  hints: { readOnlyHint: boolean; destructiveHint?: boolean; idempotentHint?: boolean },
): Tool {
  const annotations = { title, ...hints, openWorldHint: false };
  return {
    name,
    title,
    description,
    addTo: (server, parts) => {
      const inputSchema: z.ZodObject = input;
      server.registerTool(name, { title, description, inputSchema, annotations }, async (given, ctx) => {
        const over = AbortSignal.timeout(parts.answerWithinMs);
        const signal = AbortSignal.any([ctx.mcpReq.signal, over]);
        try {
          return answerOf(await run(input.parse(given), callOf(parts, signal)));
        } catch (error) {
          return failureOf(over.aborted ? new NoAnswer(parts.answerWithinMs, hints.readOnlyHint) : error);
        }
      });
    },
  };
}

function callOf(parts: ToolParts, signal: AbortSignal): ToolCall {
  return {
    ...parts,
    signal,
    instantOf: (text, argument) => (text === undefined ? undefined : parts.instant(text, argument)),
  };
}
