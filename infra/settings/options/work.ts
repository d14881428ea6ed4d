// Written by `npm run settings` from infra/settings/work.ts; a test compares the two.

/** Concurrency. */
export interface WorkOptions {
  /**
   * The highest number of concurrent workers for queues and event buses; each may hold two database
   * connections. A job that is created a few seconds before it is due occupies a worker for up to a
   * second.
   *
   * @default 4
   */
  readonly fastConcurrency?: number | undefined;
  /**
   * The highest number of concurrent workers for handlers, functions and webhooks; each may hold
   * four database connections, two of them for handlers' transactions. A job that is created a few
   * seconds before it is due occupies a worker for up to a second.
   *
   * @default 10
   */
  readonly slowConcurrency?: number | undefined;
  /**
   * The highest number of concurrent invocations that drain the queue of commands; each may hold two
   * database connections.
   *
   * @default 2
   */
  readonly ingestConcurrency?: number | undefined;
  /** The prefix of keys that commands from the queue may name. Default: all keys. */
  readonly ingestPrefix?: string | undefined;
  /**
   * The roles and users, also of other accounts, that alone may send commands to the queue; services
   * such as EventBridge are not affected. Default: the policies of this account's IAM decide.
   */
  readonly commandSenders?: readonly string[] | undefined;
  /**
   * EventBridge rules of other stacks that may send commands to the queue; a name may end in `*`.
   * Default: only this app's own watches.
   */
  readonly watchRuleArns?: readonly string[] | undefined;
}
