import {
  type Carillon,
  CarillonProblem,
  CarillonUnreachable,
  isDenied,
  type OwnToken,
} from "../../client/main.ts";
import type { Call } from "../command.ts";
import { isLoopback } from "../connection.ts";
import { measuredText } from "../times.ts";
import type { Check } from "./check.ts";
import { checkEvents } from "./check-events.ts";

type ApiCall = Pick<Call, "signal" | "now"> & { client: Carillon; url: string; isNamed: boolean };

/** A larger difference shows in times that people compare. */
const clockOffMs = 2_000;

/** The API, the token, and what has to agree with this machine. */
export async function checkApi(call: ApiCall): Promise<Check[]> {
  const { client, url, isNamed, signal } = call;
  try {
    const own = await client.tokens.own({ signal });
    return [
      { name: "api", state: "good", text: `${url} answers` },
      { name: "token", state: "good", text: tokenText(own) },
      await checkClock(call),
      await checkZones(call),
      await checkEvents(call),
    ];
  } catch (error) {
    if (isDenied(error))
      return [
        { name: "api", state: "good", text: `${url} answers` },
        {
          name: "token",
          state: "wrong",
          text: `${error.detail} Another API may have had this address before.`,
        },
      ];
    if (error instanceof CarillonUnreachable && isLoopback(url) && !isNamed)
      return [{ name: "api", state: "none", text: `${url} does not answer: carillon dev starts it` }];
    if (!(error instanceof CarillonUnreachable || error instanceof CarillonProblem)) throw error;
    return [{ name: "api", state: "wrong", text: `${url}: ${error.message}` }];
  }
}

function tokenText({ name, scope, prefix, expiresAt }: OwnToken): string {
  const reach = prefix === null ? "" : `, for keys that begin with ${prefix}`;
  return `${name} (${scope}${reach})${expiresAt === null ? "" : `, ends ${expiresAt}`}`;
}

async function checkClock({ client, signal, now }: ApiCall): Promise<Check> {
  const before = now();
  const asOf = await orDenied(async () => (await client.problems({ signal })).asOf);
  if (asOf === null) return { name: "clock", state: "none", text: "this token may not read the API's time" };
  return clockCheck(Date.parse(asOf), { before, after: now() });
}

/** Compares an instant of the database with this machine's clock before and after its request. */
export function clockCheck(asOf: number, { before, after }: { before: number; after: number }): Check {
  // The answer was made at some moment of the request.
  const half = (after - before) / 2;
  const off = asOf - (before + half);
  if (Math.abs(off) <= half + clockOffMs)
    return {
      name: "clock",
      state: "good",
      text: `this machine and the database differ by at most ${measuredText(Math.ceil(Math.abs(off) + half))}`,
    };
  const side = off > 0 ? "behind" : "ahead of";
  return {
    name: "clock",
    state: "wrong",
    text: `this machine is ${measuredText(Math.abs(off))} ${side} the database, whose time counts: set its clock`,
  };
}

async function checkZones({ client, signal }: ApiCall): Promise<Check> {
  const here = process.versions["tz"] ?? "unknown";
  const there = await orDenied(() => client.zoneData.get({ signal }));
  if (there === null)
    return { name: "zones", state: "none", text: "this token may not read the API's release" };
  const { runtime } = there;
  if (runtime === null || runtime === here)
    return { name: "zones", state: "good", text: `time-zone data ${here}, here and there` };
  const text = `time-zone data ${here} here, ${runtime} there, which counts: times shown here may differ`;
  return { name: "zones", state: "none", text };
}

async function orDenied<Found>(read: () => Promise<Found>): Promise<Found | null> {
  try {
    return await read();
  } catch (error) {
    if (isDenied(error)) return null;
    throw error;
  }
}
