/** Code in `functions/jobs/`. */
export interface HandlerTarget {
  handler: string;
}

/** An SQS queue, by name, URL or ARN. */
export interface QueueTarget {
  queue: string;
  groupId?: string | undefined;
  attributes?: Record<string, string> | undefined;
  /** Of pulses: up to so many travel in one message, as a CloudEvents batch. */
  batch?: number | undefined;
}

/** An event bus. */
export interface EventTarget {
  event: {
    bus?: string | undefined;
    source?: string | undefined;
    detailType?: string | undefined;
  };
}

/** An HTTPS request. The secret is read back as `***`; written back as that it stays. */
export interface WebhookTarget {
  webhook: {
    url: string;
    method?: "POST" | "PUT" | undefined;
    headers?: Record<string, string> | undefined;
    secret?: string | [string] | [string, string] | undefined;
  };
}

/** A function, by name or ARN. */
export interface LambdaTarget {
  lambda: string;
  invocation?: "async" | "sync" | undefined;
}

/** Where a job goes; exactly one of the five. */
export type Target =
  | (HandlerTarget & Without<QueueTarget & EventTarget & WebhookTarget & LambdaTarget>)
  | (QueueTarget & Without<HandlerTarget & EventTarget & WebhookTarget & LambdaTarget>)
  | (EventTarget & Without<HandlerTarget & QueueTarget & WebhookTarget & LambdaTarget>)
  | (WebhookTarget & Without<HandlerTarget & QueueTarget & EventTarget & LambdaTarget>)
  | (LambdaTarget & Without<HandlerTarget & QueueTarget & EventTarget & WebhookTarget>);

/** None of these fields: two targets in one object are a fault of the types, and telling them apart takes no cast. */
type Without<Others> = { [Name in keyof Others]?: never };

export type TargetKind = "handler" | "queue" | "event" | "webhook" | "lambda";

/** A target as it is read back, with what was left out filled in. What is secret reads `***`. */
export type ShownTarget =
  | (HandlerTarget & Without<QueueTarget & EventTarget & WebhookTarget & LambdaTarget>)
  | (QueueTarget & Without<HandlerTarget & EventTarget & WebhookTarget & LambdaTarget>)
  | ({ event: { bus: string; source: string; detailType: string } } & Without<
      HandlerTarget & QueueTarget & WebhookTarget & LambdaTarget
    >)
  | ({
      webhook: { url: string; method: "POST" | "PUT"; headers: Record<string, string>; secret?: "***" };
    } & Without<HandlerTarget & QueueTarget & EventTarget & LambdaTarget>)
  | ({ lambda: string; invocation: "async" | "sync" } & Without<
      HandlerTarget & QueueTarget & EventTarget & WebhookTarget
    >);
