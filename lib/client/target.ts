/** Code in `functions/jobs/`. */
export interface HandlerTarget {
  handler: string;
}

/** An SQS queue, by name, URL or ARN. */
export interface QueueTarget {
  queue: string;
  groupId?: string | undefined;
  attributes?: Record<string, string> | undefined;
  /** For pulses: how many travel in one message at most, as a CloudEvents batch. */
  batch?: number | undefined;
}

/** An event bus. */
export interface EventTarget {
  event: {
    bus?: string | undefined;
    /** `carillon` by default; otherwise one of the deployment's `targetEventSources`. */
    source?: string | undefined;
    /** `carillon.job.due` by default, and no other type that begins with `carillon.`. */
    detailType?: string | undefined;
  };
}

/** An HTTPS request. Credentials read `***`; writing `***` back keeps them. */
export interface WebhookTarget {
  webhook: {
    url: string;
    method?: "POST" | "PUT" | undefined;
    headers?: Record<string, string> | undefined;
    secret?: string | [string] | [string, string] | undefined;
    /** Headers whose values are credentials, beside those with a name such as `authorization`. */
    secretHeaders?: string[] | undefined;
    /** Parameters of the URL whose values are credentials, beside those with a name such as `token`. */
    secretQuery?: string[] | undefined;
  };
}

/** A function, by name or ARN. */
export interface LambdaTarget {
  lambda: string;
  invocation?: "async" | "sync" | undefined;
}

/** The target of a job; exactly one of the five kinds. */
export type Target =
  | (HandlerTarget & Without<QueueTarget & EventTarget & WebhookTarget & LambdaTarget>)
  | (QueueTarget & Without<HandlerTarget & EventTarget & WebhookTarget & LambdaTarget>)
  | (EventTarget & Without<HandlerTarget & QueueTarget & WebhookTarget & LambdaTarget>)
  | (WebhookTarget & Without<HandlerTarget & QueueTarget & EventTarget & LambdaTarget>)
  | (LambdaTarget & Without<HandlerTarget & QueueTarget & EventTarget & WebhookTarget>);

/**
 * Forbids the fields of the other kinds, so that two targets in one object are a type error, and
 * kinds can be told apart without a cast.
 */
type Without<Others> = { [Name in keyof Others]?: never };

export type TargetKind = "handler" | "queue" | "event" | "webhook" | "lambda";

/** A target as answers show it: defaults filled in, secrets as `***`. */
export type ShownTarget =
  | (HandlerTarget & Without<QueueTarget & EventTarget & WebhookTarget & LambdaTarget>)
  | (QueueTarget & Without<HandlerTarget & EventTarget & WebhookTarget & LambdaTarget>)
  | ({ event: { bus: string; source: string; detailType: string } } & Without<
      HandlerTarget & QueueTarget & WebhookTarget & LambdaTarget
    >)
  | ({
      webhook: {
        url: string;
        method: "POST" | "PUT";
        headers: Record<string, string>;
        secret?: "***";
        secretHeaders?: string[];
        secretQuery?: string[];
      };
    } & Without<HandlerTarget & QueueTarget & EventTarget & LambdaTarget>)
  | ({ lambda: string; invocation: "async" | "sync" } & Without<
      HandlerTarget & QueueTarget & EventTarget & WebhookTarget
    >);
