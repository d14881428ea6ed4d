import type { ShownTarget } from "../../../client/target.ts";

/** A target in a line, such as `webhook POST https://hooks.example.com/orders`. */
export function targetText(target: ShownTarget): string {
  if (target.handler !== undefined) return `handler ${target.handler}`;
  if (target.queue !== undefined) return `queue ${target.queue}`;
  if (target.lambda !== undefined) return `function ${target.lambda} (${target.invocation})`;
  if (target.webhook !== undefined) return `webhook ${target.webhook.method} ${target.webhook.url}`;
  const { bus, source, detailType } = target.event;
  return `event ${detailType} of ${source}, on the bus ${bus}`;
}
