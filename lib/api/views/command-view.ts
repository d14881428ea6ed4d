import { withoutCredentials } from "../../command/without-credentials.ts";
import { listedCharactersMax } from "../../inbox/refusals.ts";
import type { DeadCommandRead } from "../../ingest/dead-commands.ts";
import { isJson, type Json } from "../../schedule/shape/json.ts";
import { refusalDocument } from "../request/problem.ts";

export function deadView(dead: DeadCommandRead, within: "list" | "alone") {
  const { id, messageId, place, commandId, at, key, queuePrefix, refusedAt, refusal, command } = dead;
  return {
    id,
    messageId,
    place,
    commandId,
    at: at?.toISOString() ?? null,
    key,
    queuePrefix,
    refusedAt: refusedAt.toISOString(),
    error: refusalDocument(refusal),
    command: shown(command, within),
  };
}

function shown(command: unknown, within: "list" | "alone"): Json {
  if (!isJson(command)) return null;
  const hidden = withoutCredentials(command);
  return within === "list" ? listed(withoutPayload(hidden)) : hidden;
}

function listed(command: Json): Json {
  return JSON.stringify(command).length > listedCharactersMax ? null : command;
}

/**
 * Limits for texts and lists outside the payload: a refused command may have large values in any
 * field.
 */
const textMax = 500;
const membersMax = 50;

function withoutPayload(value: Json): Json {
  if (typeof value === "string")
    return value.length > textMax ? `${value.slice(0, textMax)}…`.toWellFormed() : value;
  if (Array.isArray(value)) return value.slice(0, membersMax).map(withoutPayload);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(([name]) => name !== "payload");
  return Object.fromEntries(
    members.slice(0, membersMax).map(([name, member]) => [name, withoutPayload(member)]),
  );
}
