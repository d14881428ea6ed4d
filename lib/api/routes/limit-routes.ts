import * as z from "zod";
import { parseRate, rateForm, ratePattern, rateText } from "../../job/rate.ts";
import type { Limits, LimitsRead } from "../../limit/limits.ts";
import { Refusal } from "../../refusal.ts";
import { limitDocs } from "../document/limit-docs.ts";
import type { Operations } from "../operations/operations.ts";
import type { Answer } from "../request/answer.ts";
import { readCursor, writeCursor } from "../request/cursor.ts";
import { etagOf, readIfMatch, readIfNoneMatch } from "../request/etag.ts";
import { pageQuery } from "../request/query.ts";
import { noQuery, type Route, readShape, route } from "../request/route.ts";

/**
 * A target's name may contain slashes, percent-encoded or not, so it takes the rest of the path.
 */
const path = "/v1/limits/{target+}";

export function limitRoutes(operations: Operations): Route[] {
  return [...readRoutes(operations), ...editRoutes(operations)];
}

function readRoutes(operations: Operations): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/limits",
      scope: "read",
      everyKey: "Reading limits of targets, which all callers share,",
      query: z.strictObject(pageQuery),
      doc: docs.list,
      answer: async ({ query: { cursor, limit } }) => {
        const after =
          cursor === undefined
            ? undefined
            : readCursor(cursor, "limits", (name) => targetFault(name) === null);
        const { items, next } = await operations.listLimits({ after, limit });
        return {
          status: 200,
          body: {
            items: items.map(limitsView),
            ...(next === undefined ? {} : { cursor: writeCursor("limits", next) }),
          },
        };
      },
    }),
    route({
      method: "GET",
      path,
      scope: "read",
      everyKey: "Reading limits of targets, which all callers share,",
      query: noQuery,
      doc: docs.get,
      answer: async ({ parameter }) => {
        const target = readTarget(parameter("target"));
        const read = await operations.readLimits(target);
        if (read === null)
          throw new Refusal(
            "missing",
            `Neither a schedule nor a limit names the target ${JSON.stringify(target)}.`,
          );
        return limitsAnswer(read);
      },
    }),
  ];
}

function editRoutes(operations: Operations): Route[] {
  return [
    route({
      method: "PUT",
      path,
      scope: "admin",
      everyKey: "A change of limits",
      query: noQuery,
      doc: docs.put,
      answer: async ({ parameter, body, header, caller }) => {
        const target = readTarget(parameter("target"));
        const limits = readBody(body());
        const ifMatch = readIfMatch(header("if-match"));
        const ifNoneMatch = readIfNoneMatch(header("if-none-match"));
        return limitsAnswer(await operations.setLimits({ target, limits, ifMatch, ifNoneMatch, caller }));
      },
    }),
    route({
      method: "DELETE",
      path,
      scope: "admin",
      everyKey: "A change of limits",
      query: noQuery,
      doc: docs.remove,
      answer: async ({ parameter, header, caller }) => {
        await operations.clearLimits({
          target: readTarget(parameter("target")),
          ifMatch: readIfMatch(header("if-match")),
          caller,
        });
        return { status: 204 };
      },
    }),
  ];
}

const concurrencyMax = 100_000;

const places = z
  .int(`takes a whole number from 1 to ${concurrencyMax}, or null`)
  .min(1)
  .max(concurrencyMax)
  .nullable()
  .default(null);

const bodyShape = z.strictObject({
  concurrency: places.describe("How many of its jobs run at the same time."),
  perTeam: places.describe(
    "How many of them may be of one team, so that jobs of one team that hang do not keep all places: at most `concurrency`, which it needs.",
  ),
  rate: z
    .string(`is written ${rateForm}, or null`)
    .meta({ pattern: ratePattern.source })
    .transform((text, context) => {
      const rate = parseRate(text);
      if (rate === null) context.addIssue({ code: "custom", message: `is written ${rateForm}, or null` });
      return rate;
    })
    .nullable()
    .default(null)
    .describe(`How many of its jobs start per unit of time, written ${rateForm}.`),
});

function readBody(body: unknown): Limits {
  const limits = readShape(bodyShape, body, "body");
  const { concurrency, perTeam } = limits;
  if (perTeam === null || (concurrency !== null && perTeam <= concurrency)) return limits;
  const message = "takes at most as many jobs as `concurrency`, which it needs";
  throw new Refusal("invalid", "The limits are not understood.", [{ path: "perTeam", message }]);
}

const nameMax = 512;
const nameForm = /^(handler|webhook|lambda|queue|event)\/([\x21-\x7e]+)$/;

const docs = limitDocs(z.string().max(nameMax).regex(nameForm), bodyShape);

function targetFault(name: string): string | null {
  const [, kind, rest = ""] = nameForm.exec(name) ?? [];
  if (kind === undefined || name.length > nameMax)
    return "takes handler/…, webhook/…, lambda/…, queue/… or event/…, followed by the name that schedules use";
  if (kind === "webhook" && hostOf(rest) !== rest)
    return "takes the webhook's host as URLs have it, such as webhook/api.example.com or webhook/api.example.com:8443";
  return null;
}

/** The host as `new URL(…).host` spells it for schedules; null where the text is not a host. */
function hostOf(text: string): string | null {
  try {
    return new URL(`https://${text}`).host;
  } catch {
    return null;
  }
}

function readTarget(name: string): string {
  const message = targetFault(name);
  if (message === null) return name;
  throw new Refusal("invalid", "The target is not understood.", [{ path: "target", message }]);
}

function limitsAnswer(limits: LimitsRead): Answer {
  return { status: 200, body: limitsView(limits), headers: { etag: etagOf(limits.revision) } };
}

function limitsView({ target, concurrency, perTeam, rate, defined, set, running, waiting }: LimitsRead) {
  return {
    target,
    concurrency,
    perTeam,
    rate: rate === null ? null : rateText(rate),
    defined: {
      concurrency: defined.concurrency,
      rate: defined.rate === null ? null : rateText(defined.rate),
    },
    setAt: set?.at ?? null,
    setBy: set?.by ?? null,
    running,
    waiting,
  };
}
