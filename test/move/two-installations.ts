import { type Driven, drive } from "../../lib/cli/move/drive.ts";
import { acceptanceOf } from "../../lib/command/acceptance.ts";
import { allowedTargetsFrom } from "../../lib/command/allowed-targets.ts";
import type { Sql } from "../../lib/db/connect.ts";
import {
  type DestinationSteps,
  destinationSteps,
  type SourceSteps,
  sourceSteps,
} from "../../lib/move/move-steps.ts";
import { movedPartShape } from "../../lib/move/moved-doc.ts";
import { beginArrival, beginMove, type Move } from "../../lib/move/moves.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { functionRoles } from "../support/role-logins.ts";

export const caller = { name: "operator", reach: { prefix: "", team: "" } };

const oldUrl = "https://old.example";
const newUrl = "https://new.example";

/** Two installations whose clocks go together. */
export interface Two {
  old: Carillon;
  new: Carillon;
  advance(ms: number): Promise<void>;
  /** A tick, and the work that is due, in both. */
  run(): Promise<void>;
  /** The occurrences of a key that ran, in both installations. */
  ran(key: string): string[];
  /** Begins a move of the prefix from the old to the new installation, or back. */
  begin(prefix: string, options?: BeginOptions): Promise<Begun>;
  stop(): Promise<void>;
}

export interface BeginOptions {
  back?: boolean;
  /** The connections of the driver; those of the installations if left out. */
  connected?: { old: Sql; new: Sql };
}

export interface Begun {
  move: Move;
  source: SourceSteps;
  destination: DestinationSteps;
  drive(): Promise<Driven>;
  finish(): Promise<void>;
}

export async function twoInstallations(): Promise<Two> {
  const [one, other] = [await carillon({ roles: functionRoles }), await carillon({ roles: functionRoles })];
  return {
    old: one,
    new: other,
    advance: async (ms) => {
      await one.clock.advance(ms);
      await other.clock.advance(ms);
    },
    run: async () => {
      for (const world of [one, other]) {
        await world.tick();
        await world.work();
      }
    },
    ran: (key) =>
      [...one.delivered, ...other.delivered]
        .filter((each) => each.key === key)
        .map(({ occurrence }) => occurrence)
        .sort(),
    begin: (prefix, options) => beginBetween(one, other, prefix, options),
    stop: async () => {
      await one.stop();
      await other.stop();
    },
  };
}

async function beginBetween(
  one: Carillon,
  other: Carillon,
  prefix: string,
  { back = false, connected }: BeginOptions = {},
): Promise<Begun> {
  const there = { world: one, sql: connected?.old ?? one.as.api, url: oldUrl };
  const here = { world: other, sql: connected?.new ?? other.as.api, url: newUrl };
  const [from, to] = back ? [here, there] : [there, here];
  const move = await beginMove(from.sql, { prefix, peer: to.url, caller });
  await beginArrival(to.sql, { id: move.id, prefix, peer: from.url, caller });
  const source = sourceSteps(depsOf(from), move.id, caller);
  const destination = destinationSteps(depsOf(to), move.id, caller);
  const options = { page: 50, waitMs: 0, sleep: async () => {}, now: () => 0, report: () => {} };
  const parsed = {
    ...source,
    parts: async () => (await source.parts()).map((part) => movedPartShape.parse(part)),
  };
  const bringing = {
    ...destination,
    bring: (parts: readonly unknown[]) => destination.bring(parts.map((part) => movedPartShape.parse(part))),
  };
  return {
    move,
    source,
    destination,
    drive: () => drive(parsed, bringing, options),
    finish: async () => {
      await source.close();
      await source.end({ abandon: false });
      await destination.end();
    },
  };
}

export const accept = acceptanceOf({
  handlers: [],
  targets: allowedTargetsFrom({ AWS_REGION: "eu-central-1" }),
});

const depsOf = ({ world: { queue, log }, sql }: { world: Carillon; sql: Sql }) => ({
  sql,
  queue,
  log,
  accept,
});
