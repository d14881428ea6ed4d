import type { Addressed } from "./stack-event.ts";

export interface StackAnswer {
  status: "SUCCESS" | "FAILED";
  /** The reason of a failure, which people read in CloudFormation's console. */
  reason?: string;
  /** The identity of the resource; another one in an update means that the old resource is deleted. */
  physicalResourceId: string;
}

export interface Sending {
  fetch: typeof globalThis.fetch;
  pause: (ms: number) => Promise<void>;
}

/** CloudFormation's limit of the whole answer. */
const bytesMax = 4_096;
const triesMax = 4;
const sendMs = 5_000;
const pauseMs = 1_000;

/** Sends the answer to the address in the event, where CloudFormation waits for it. */
export async function answerStack(
  { fetch, pause }: Sending,
  address: Addressed,
  answer: StackAnswer,
): Promise<void> {
  const body = Buffer.from(withinLimit(address, answer));
  for (let tries = 1; ; tries += 1) {
    try {
      // S3 checks the signature of the address with an empty content type, which bytes have.
      const init = { method: "PUT", body, redirect: "error", signal: AbortSignal.timeout(sendMs) } as const;
      const { ok, status } = await fetch(address.ResponseURL, init);
      if (ok) return;
      throw new Error(`The address for the answer answered ${status}.`);
    } catch (error) {
      if (tries === triesMax) throw error;
      await pause(pauseMs * tries);
    }
  }
}

function withinLimit(address: Addressed, answer: StackAnswer): string {
  for (let length = answer.reason?.length ?? 0; ; length = Math.floor(length * 0.9)) {
    const reason = answer.reason?.slice(0, length).toWellFormed();
    const text = JSON.stringify({
      Status: answer.status,
      ...(reason === undefined ? {} : { Reason: reason }),
      PhysicalResourceId: answer.physicalResourceId,
      StackId: address.StackId,
      RequestId: address.RequestId,
      LogicalResourceId: address.LogicalResourceId,
    });
    if (length === 0 || Buffer.byteLength(text) <= bytesMax) return text;
  }
}
