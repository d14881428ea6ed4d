import type { ShownTarget } from "../../../client/main.ts";

/** A target in a few words, such as `handler send-report`. */
export function targetText(target: ShownTarget | null): string {
  if (target === null) return "-";
  if (target.handler !== undefined) return `handler ${target.handler}`;
  if (target.queue !== undefined) return `queue ${target.queue.split(/[:/]/).at(-1)}`;
  if (target.lambda !== undefined) return `lambda ${target.lambda.split(":").at(-1)}`;
  if (target.webhook !== undefined) return `webhook ${URL.parse(target.webhook.url)?.host ?? ""}`;
  return `event ${target.event.detailType}`;
}
