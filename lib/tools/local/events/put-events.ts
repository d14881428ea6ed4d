import * as z from "zod";
import type { Bus, Entry } from "./bus.ts";
import { busName, OperationFault, parseJson, read } from "./operation-input.ts";

const requestBytesMax = 256 * 1024;
const entriesMax = 10;

const putEventsInput = z.strictObject({
  Entries: z.array(z.record(z.string(), z.unknown())).min(1).max(entriesMax),
  EndpointId: z.never().optional(),
});
const entryShape = z.strictObject({
  Source: z.string().min(1).max(256),
  DetailType: z.string().min(1).max(128),
  Detail: z.string(),
  Time: z.number().min(0).max(253_402_300_799).optional(),
  Resources: z.array(z.string()).default([]),
  EventBusName: busName,
  TraceHeader: z.string().optional(),
});

/** A faulty entry fails alone; the request's other entries are accepted. */
export async function putEvents(bus: Bus, input: unknown): Promise<unknown> {
  const { Entries } = read(putEventsInput, input);
  if (sizeOf(Entries) > requestBytesMax) {
    throw new OperationFault(
      "ValidationException",
      `Total size of the entries in the request is over the limit of ${requestBytesMax} bytes.`,
    );
  }
  const entries = Entries.map(readEntry);
  const good = entries.filter((entry) => "detail" in entry);
  const ids = (await bus.accept(good)).values();
  const answers = entries.map((entry) => ("detail" in entry ? { EventId: ids.next().value } : entry));
  return { FailedEntryCount: entries.length - good.length, Entries: answers };
}

interface EntryFault {
  ErrorCode: string;
  ErrorMessage: string;
}

function readEntry(input: Record<string, unknown>): Entry | EntryFault {
  const { success, data, error } = entryShape.safeParse(input);
  if (!success) return { ErrorCode: "InvalidArgument", ErrorMessage: z.prettifyError(error) };
  if (data.Source.startsWith("aws.")) {
    return {
      ErrorCode: "NotAuthorizedForSourceException",
      ErrorMessage: "Sources that begin with aws. are reserved for AWS.",
    };
  }
  const detail = parseJson(data.Detail);
  if (typeof detail !== "object" || detail === null || Array.isArray(detail)) {
    return { ErrorCode: "MalformedDetail", ErrorMessage: "Detail is malformed: it takes a JSON object." };
  }
  return {
    bus: data.EventBusName,
    source: data.Source,
    detailType: data.DetailType,
    detail,
    time: data.Time === undefined ? undefined : new Date(data.Time * 1000),
    resources: data.Resources,
  };
}

/** The size as EventBridge counts it: the texts of the entry, and 14 bytes for a time. */
function sizeOf(entries: readonly Record<string, unknown>[]): number {
  const counted = entries.flatMap(({ Source, DetailType, Detail, Resources, Time }) => [
    ...[Source, DetailType, Detail].map((text) => Buffer.byteLength(String(text ?? ""))),
    ...(Array.isArray(Resources) ? Resources.map((text) => Buffer.byteLength(String(text))) : []),
    Time === undefined ? 0 : 14,
  ]);
  return counted.reduce((sum, bytes) => sum + bytes, 0);
}
