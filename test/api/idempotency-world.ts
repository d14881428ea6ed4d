import { randomUUID } from "node:crypto";
import { makeApi } from "../../lib/api/handler.ts";
import { makeOperations } from "../../lib/api/operations/operations.ts";
import type { HttpResponse } from "../../lib/api/request/answer.ts";
import { free } from "../../lib/api/request/cost.ts";
import { makeAnswerOnce } from "../../lib/api/request/idempotency.ts";
import { byToken } from "../../lib/api/sign-in/authenticate.ts";
import { allowedTargetsFrom } from "../../lib/command/allowed-targets.ts";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { rememberedSql } from "../../lib/idempotency/remembered-sql.ts";
import { silentLog } from "../../lib/log/log.ts";
import { tick, tickDefaults } from "../../lib/tick/tick.ts";
import { type DatabaseClock, databaseClock } from "../../lib/tools/testing/virtual-clock.ts";
import { type Fuse, fuse, type Moment } from "../crash/fuse.ts";
import { connectThrough } from "../race/lines.ts";
import { memoryQueues } from "../race/memory-queues.ts";
import { testDatabase } from "../support/database.ts";
import { monday } from "../support/instants.ts";
import { type EventParts, httpEvent } from "./http-event.ts";

export interface Asked extends EventParts {
  method: string;
  path: string;
}

export interface Answered {
  status: number;
  headers: Record<string, string>;
  json: unknown;
}

/**
 * The API over a database whose clock is fixed, in processes of which one may be killed at a given
 * moment.
 */
export interface KeyedWorld {
  sql: Sql;
  clock: DatabaseClock;
  fuse: Fuse;
  tick(): Promise<void>;
  /**
   * Sends to a process that lives for this request only; null where it is killed before it answers.
   */
  send(asked: Asked): Promise<Answered | null>;
  /** Sends to a process that dies at the moment, if the request reaches it. */
  sendToDoomed(asked: Asked): Promise<Answered | null>;
  close(): Promise<void>;
}

const token = { id: randomUUID(), name: "ann", scope: "admin", prefix: null, team: null } as const;

export async function keyedWorld(moment?: Moment): Promise<KeyedWorld> {
  const database = await testDatabase();
  const side = connect({ DATABASE_URL: database.url }, { max: 2 });
  const clock = await databaseClock(side, monday);
  await side`
    insert into carillon.tokens (id, hash, name, scope, created_at, created_by)
    values (${token.id}, 'none', ${token.name}, ${token.scope}, carillon.clock(), 'test')`;
  const queues = memoryQueues(clock, 30_000);
  const lit = fuse(moment);
  const unlit = fuse();

  const sendTo = async (of: Fuse, { method, path, headers, ...parts }: Asked): Promise<Answered | null> => {
    const process = of.process();
    process.begin(`${method} ${path}`);
    const sql = rememberedSql(connectThrough(database.url, process.wrap));
    const api = makeApi({
      operations: makeOperations({
        sql,
        queue: process.queue(queues.sender()),
        handlers: [],
        targets: allowedTargetsFrom({ AWS_REGION: "eu-central-1" }),
        log: silentLog,
      }),
      authenticate: byToken(async () => ({ ...token, expiresAt: null, rates: [], isUseNoted: true })),
      admit: async () => free,
      noteUse: async () => {},
      answerOnce: makeAnswerOnce(sql),
      cursorKey: async () => Buffer.alloc(32),
      clock,
      log: silentLog,
    });
    const event = httpEvent(method, path, {
      ...parts,
      headers: { authorization: "Bearer secret", ...headers },
    });
    const answer = await api(event, { awsRequestId: randomUUID(), getRemainingTimeInMillis: () => 29_000 });
    // The answer of a dead process does not reach the caller.
    const isDead = process.isDead();
    await Promise.all([sql.end(), process.closed()]);
    return isDead ? null : read(answer);
  };

  return {
    sql: side,
    clock,
    fuse: lit,
    tick: async () => {
      await tick({ sql: side, queue: queues.sender(), log: silentLog }, tickDefaults, () => false);
    },
    send: (asked) => sendTo(unlit, asked),
    sendToDoomed: (asked) => sendTo(lit, asked),
    close: async () => {
      await side.end();
      await database.drop();
    },
  };
}

function read({ statusCode, headers, body }: HttpResponse): Answered {
  return { status: statusCode, headers, json: body === "" ? undefined : JSON.parse(body) };
}
