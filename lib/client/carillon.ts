import type {
  AgendaCounts,
  AgendaFilter,
  AgendaItem,
  AgendaOutcome,
  AgendaSchedules,
  AgendaWindow,
  LastRuns,
  LastRunsBody,
} from "./agenda.ts";
import type { AuditEntry, AuditFilter } from "./audit.ts";
import { type BatchOptions, type Operation, type OperationResult, sendBatch } from "./batch.ts";
import { Calendars } from "./calendars.ts";
import { Commands, Inbox } from "./commands.ts";
import type { Forecast, ForecastParams } from "./forecast.ts";
import { Groups, LabelledSchedules } from "./groups.ts";
import type { BoardHold, HoldFilter } from "./holds.ts";
import { Jobs } from "./jobs.ts";
import type { Json } from "./json.ts";
import { TargetLimits } from "./limits.ts";
import { Arrivals, Moves } from "./moves.ts";
import { Quarantine } from "./quarantine.ts";
import { pause } from "./request/backoff.ts";
import { listOf } from "./request/list.ts";
import type { ListOptions, Pages } from "./request/pages.ts";
import {
  type Answered,
  type CallOptions,
  makeSend,
  type Request,
  type Retrying,
  type Send,
} from "./request/transport.ts";
import { Schedules } from "./schedules.ts";
import type { Outage, OutageFilter, Problems, SeriesFilter, SeriesHead, SeriesStep, Stats } from "./stats.ts";
import { CredentialKeys, Tokens } from "./tokens.ts";
import { ZoneData } from "./zone-data.ts";

export interface CarillonOptions {
  /** The address of the API, such as `https://abc123.execute-api.eu-central-1.amazonaws.com`. */
  url: string;
  /**
   * The token, or a function that returns it for each attempt, so that a rotated token takes effect
   * at once.
   */
  token: string | (() => string | Promise<string>);
  fetch?: typeof globalThis.fetch | undefined;
  /** Milliseconds for each attempt; default 30,000. */
  timeout?: number | undefined;
  /** The most retries of a request; default 4. */
  retries?: number | undefined;
  /** Sent with every request. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Called before the wait for each retry, for logs and progress messages. */
  onRetry?: ((retrying: Retrying) => void) | undefined;
}

/** The client of one deployment of Carillon. */
export class Carillon {
  readonly schedules: Schedules;
  readonly jobs: Jobs;
  readonly groups: Groups;
  readonly tags: LabelledSchedules<{ tag: string }>;
  readonly calendars: Calendars;
  readonly limits: TargetLimits;
  readonly zoneData: ZoneData;
  readonly tokens: Tokens;
  readonly credentialKeys: CredentialKeys;
  readonly moves: Moves;
  readonly arrivals: Arrivals;
  readonly commands: Commands;
  readonly inbox: Inbox;
  readonly quarantine: Quarantine;
  readonly #send: Send;

  constructor(options: CarillonOptions) {
    const {
      url,
      token,
      fetch: given = globalThis.fetch,
      timeout = 30_000,
      retries = 4,
      headers = {},
      onRetry,
    } = options;
    const send = makeSend({
      url,
      token,
      // Called as a plain function, because some runtimes refuse `fetch` as a method of another
      // object.
      fetch: (input, init) => given(input, init),
      timeout,
      retries,
      headers,
      random: Math.random,
      now: Date.now,
      pause,
      newKey: () => crypto.randomUUID(),
      onRetry,
    });
    this.#send = send;
    this.schedules = new Schedules(send);
    this.jobs = new Jobs(send);
    this.groups = new Groups(send);
    this.tags = new LabelledSchedules(send, "tags");
    this.calendars = new Calendars(send);
    this.limits = new TargetLimits(send);
    this.zoneData = new ZoneData(send);
    this.tokens = new Tokens(send);
    this.credentialKeys = new CredentialKeys(send);
    this.moves = new Moves(send);
    this.arrivals = new Arrivals(send);
    this.commands = new Commands(send);
    this.inbox = new Inbox(send);
    this.quarantine = new Quarantine(send);
  }

  /**
   * Any request of the API, for routes without a method here and for bodies that are JSON already.
   */
  request<Body>(request: Request): Promise<Answered<Body>> {
    return this.#send<Body>(request);
  }

  /** Many edits, in their order; more than 1,000 are sent in several calls. */
  batch(operations: readonly Operation[], options?: BatchOptions): Promise<OperationResult[]> {
    return sendBatch(this.#send, operations, options);
  }

  /** Recorded changes, newest first. */
  audit(params?: AuditFilter & ListOptions): Pages<AuditEntry> {
    return listOf(this.#send, ["v1", "audit"], params);
  }

  /** The holds in force, those that end first at the front. */
  holds(params?: HoldFilter & ListOptions): Pages<BoardHold> {
    return listOf(this.#send, ["v1", "holds"], params);
  }

  /** Whether jobs run on time, and what needs attention. */
  problems(options?: CallOptions): Promise<Problems> {
    return this.#get(["v1", "problems"], {}, options);
  }

  stats(options: CallOptions & { prefix?: string | undefined } = {}): Promise<Stats> {
    const { prefix, ...call } = options;
    return this.#get(["v1", "stats"], { prefix }, call);
  }

  /** Outcomes, lateness and throughput by steps of time, newest first. */
  series(params?: SeriesFilter & ListOptions): Pages<SeriesStep, SeriesHead> {
    return listOf(this.#send, ["v1", "series"], params);
  }

  /** The number of fires in each of the coming minutes. */
  forecast(params: ForecastParams = {}, options?: CallOptions): Promise<Forecast> {
    return this.#get(["v1", "forecast"], params, options);
  }

  /** Times in which no tick ran, no worker claimed or the database was away, newest first. */
  outages(params?: OutageFilter & ListOptions): Pages<Outage> {
    return listOf(this.#send, ["v1", "outages"], params);
  }

  /**
   * All occurrences in a window, oldest first: past ones with their outcome, coming ones as planned,
   * held or skipped.
   */
  agenda(params: AgendaFilter & { timezone?: string | undefined } & ListOptions): Pages<AgendaItem> {
    return listOf(this.#send, ["v1", "occurrences"], params);
  }

  /** The occurrences in a window by cadence, of live schedules. */
  agendaCounts(params: AgendaWindow, options?: CallOptions): Promise<AgendaCounts> {
    return this.#get(["v1", "occurrences:count"], params, options);
  }

  /** How many occurrences of a window have one outcome, such as `held`, and of which schedules. */
  agendaSchedules(
    params: AgendaWindow & { outcome: AgendaOutcome },
    options?: CallOptions,
  ): Promise<AgendaSchedules> {
    return this.#get(["v1", "occurrences:schedules"], params, options);
  }

  /** The last occurrences of up to 100 keys. */
  async lastRuns(body: LastRunsBody, options?: CallOptions): Promise<LastRuns> {
    const path = ["v1", "occurrences:last"];
    return (await this.#send<LastRuns>({ method: "POST", path, body, changes: false, options })).body;
  }

  /** The OpenAPI document of this deployment. */
  openapi(options?: CallOptions): Promise<{ [name: string]: Json }> {
    return this.#get(["v1", "openapi.json"], {}, options);
  }

  /** Whether the API and its database answer. */
  health(options?: CallOptions): Promise<{ status: "ok" }> {
    return this.#get(["health"], {}, options);
  }

  async #get<Body>(path: string[], query: object, options: CallOptions | undefined): Promise<Body> {
    return (await this.#send<Body>({ method: "GET", path, query, options })).body;
  }
}
