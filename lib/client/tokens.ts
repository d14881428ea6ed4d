import type { DurationText, Instant, InstantText } from "./json.ts";
import { listOf } from "./request/list.ts";
import type { ListOptions, Pages } from "./request/pages.ts";
import type { CallOptions, Request, Send, WriteOptions } from "./request/transport.ts";

export type Scope = "read" | "write" | "admin";

export interface TokenBody {
  /** The actor of every change made with the token. */
  name: string;
  scope: Scope;
  /** The token reaches keys with this prefix; null for every key. */
  prefix?: string | null | undefined;
  expiresAt?: Instant | null | undefined;
  /** Such as `100/s`. */
  rate?: string | null | undefined;
}

export interface TokenSummary {
  id: string;
  name: string;
  scope: Scope;
  prefix: string | null;
  rate: string | null;
  createdAt: InstantText;
  createdBy: string;
  expiresAt: InstantText | null;
  /** To the minute. */
  lastUsedAt: InstantText | null;
  rotatedAt: InstantText | null;
  /** When an older secret of the token ends. */
  earlierUntil: InstantText | null;
}

/** A token with its secret, which is shown only once. */
export interface NewToken extends TokenSummary {
  token: string;
}

/** The caller itself: its token, or the caller that the gateway authenticated. */
export interface OwnToken extends Omit<TokenSummary, "rate"> {
  signIn: "token" | "iam" | "jwt";
  /** The owner of the holds that this caller sets. */
  holdOwner: string;
  /**
   * The rate in force with the fewest units left: the token's own, that of a token which made it,
   * or that of all tokens of its prefix. Null for no limit.
   */
  rate: { of: "token" | "maker" | "prefix"; limit: string; left: number } | null;
  /** The operations that the token may use, by their names in the OpenAPI document and in words. */
  may: { area: string; operations: { operation: string; what: string }[] }[];
}

export class Tokens {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  async create(body: TokenBody, options?: WriteOptions): Promise<NewToken> {
    return (await this.#send<NewToken>({ method: "POST", path: ["v1", "tokens"], body, options })).body;
  }

  async get(id: string, options?: CallOptions): Promise<TokenSummary> {
    return (await this.#send<TokenSummary>({ method: "GET", path: at(id), options })).body;
  }

  /** The token of this client, and what it may do. */
  async own(options?: CallOptions): Promise<OwnToken> {
    return (await this.#send<OwnToken>({ method: "GET", path: ["v1", "token"], options })).body;
  }

  /** The quotas of the prefixes that the token reaches, and of those that limit it, by prefix. */
  quotas(params?: ListOptions): Pages<Quotas> {
    return listOf(this.#send, ["v1", "quotas"], params);
  }

  /** Ordered by name. */
  list(params?: ListOptions): Pages<TokenSummary> {
    return listOf(this.#send, ["v1", "tokens"], params);
  }

  /** Makes a new secret; the old one stays valid for the overlap. */
  async rotate(
    id: string,
    params: { overlap?: DurationText | undefined } = {},
    options?: WriteOptions,
  ): Promise<NewToken> {
    const request: Request = { method: "POST", path: at(id, "rotate"), body: params, options };
    return (await this.#send<NewToken>(request)).body;
  }

  /** Revokes the token: it is refused from now on. */
  async delete(id: string, options?: WriteOptions): Promise<void> {
    await this.#send({ method: "DELETE", path: at(id), options });
  }
}

/** How much of a quota is used. */
export interface QuotaUse {
  used: number;
  /** Null for no limit. */
  allowed: number | null;
}

/** The quotas of a prefix, and what it uses of them. */
export interface Quotas {
  prefix: string;
  schedules: QuotaUse;
  /** Planned occurrences a minute, on average or within the densest minute of each schedule. */
  firesPerMinute: QuotaUse;
  /** The bytes of payloads as JSON. */
  payloadBytes: QuotaUse;
  /** The bytes of payloads and targets that were written since midnight UTC. */
  payloadBytesPerDay: QuotaUse;
  tokens: QuotaUse;
  /** Holds of groups and tags. */
  holds: QuotaUse;
  /** Commands in the SQL inbox. */
  inboxRows: QuotaUse;
}

/** A key that seals credentials of webhooks. */
export interface CredentialKey {
  id: number;
  madeAt: InstantText;
  madeBy: string;
  /** When a credential of an older key was last sealed with it. */
  sealedAt: InstantText | null;
  /** Whether it seals new credentials. */
  current: boolean;
}

/** One step of a pass that seals stored credentials with the current key. */
export interface SealedAgain {
  looked: number;
  sealed: number;
  /** Versions with a credential that no key opens: it has to be sent again. */
  unopened: { key: string; version: number }[];
  /** Older keys that were deleted. */
  removed: number[];
  /** Absent at the end of the pass. */
  cursor?: string;
}

export class CredentialKeys {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /** The newest first. */
  async list(options?: CallOptions): Promise<CredentialKey[]> {
    const request: Request = { method: "GET", path: credentialKeys, options };
    return (await this.#send<{ items: CredentialKey[] }>(request)).body.items;
  }

  /** Makes a key, which seals from now on. */
  async make(options?: WriteOptions): Promise<CredentialKey> {
    return (await this.#send<CredentialKey>({ method: "POST", path: credentialKeys, options })).body;
  }

  /** Seals up to 200 versions with the current key. Call it with the cursor until there is none. */
  async sealAgain(
    params: { cursor?: string | undefined } = {},
    options?: WriteOptions,
  ): Promise<SealedAgain> {
    const path = [...credentialKeys, "seal-again"];
    return (await this.#send<SealedAgain>({ method: "POST", path, query: params, options })).body;
  }
}

const credentialKeys = ["v1", "credential-keys"];

function at(id: string, ...rest: string[]): string[] {
  return ["v1", "tokens", id, ...rest];
}
