import * as z from "zod";
import type { Move } from "../../../move/moves.ts";
import { Refusal } from "../../../refusal.ts";
import type { ParameterDoc } from "../../request/route-doc.ts";
import { instantText } from "../../views/instant-text.ts";

export const tag = "Moves";

/** The most schedules or parts of one step. */
export const stepMax = 200;

const addressMax = 500;

/** The address of another installation's API, without a slash at its end. */
export const addressShape = z
  .string()
  .max(addressMax)
  .transform((text, context) => {
    const url = URL.canParse(text) ? new URL(text) : null;
    const fault = url === null ? "is not a URL" : faultOf(url);
    if (fault !== null) context.addIssue({ code: "custom", message: fault });
    return url?.href.replace(/\/+$/, "") ?? "";
  });

function faultOf({ protocol, hostname, username, password, search, hash }: URL): string | null {
  if (protocol !== "https:" && !(protocol === "http:" && isLoopback(hostname)))
    return "takes an https URL; http only of this machine";
  if (username !== "" || password !== "") return "takes a URL without a user and a password";
  return search === "" && hash === "" ? null : "takes a URL without a query and a `#`";
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

export const scheduleNumber = z
  .string()
  .regex(/^[1-9]\d{0,17}$/)
  .describe("The number of a schedule in the installation that it leaves.");

export const partName = z.strictObject({ id: scheduleNumber, part: z.int().min(0).max(1_000_000) });

export const partText = partName
  .extend({
    key: z.string().max(1_000).nullable().describe("The key of the schedule, in its first part."),
    document: z.string().describe("JSON, which only the destination reads."),
  })
  .meta({ id: "MovedPart", description: "A part of a schedule on its way." });

export const moveSchema = z
  .strictObject({
    id: z.string(),
    direction: z.enum(["out", "in"]),
    prefix: z.string(),
    peer: z.string().describe("The address of the other installation."),
    begunAt: instantText,
    begunBy: z.string(),
    closedAt: instantText.nullable().describe("Out: since when no schedule with the prefix is made here."),
    endedAt: instantText.nullable(),
  })
  .meta({
    id: "Move",
    description: "A move of all schedules of a prefix, out of this installation or into it.",
  });

export function moveView({ begunAt, closedAt, endedAt, ...move }: Move) {
  return {
    ...move,
    begunAt: begunAt.toISOString(),
    closedAt: closedAt?.toISOString() ?? null,
    endedAt: endedAt?.toISOString() ?? null,
  };
}

const moveId = "0199f3c2-6f0e-7cc1-9d0f-6a8f5e1b2c3d";

export const moveExamples = {
  out: {
    id: moveId,
    direction: "out",
    prefix: "billing:",
    peer: "https://carillon-2.example.com",
    begunAt: "2026-12-01T09:00:00.000Z",
    begunBy: "ann",
    closedAt: null,
    endedAt: null,
  },
  in: {
    id: moveId,
    direction: "in",
    prefix: "billing:",
    peer: "https://carillon-1.example.com",
    begunAt: "2026-12-01T09:00:00.000Z",
    begunBy: "ann",
    closedAt: null,
    endedAt: null,
  },
} as const;

const idShape = z.uuid();

export const idDoc: ParameterDoc = { what: "The id of a move.", schema: idShape, example: moveId };

/** A text that is no id names no move. */
export function moveIdFrom(text: string): string {
  const id = idShape.safeParse(text);
  if (id.success) return id.data.toLowerCase();
  throw new Refusal("missing", `There is no move ${JSON.stringify(text.slice(0, 100))}.`);
}
