import { type Delivery, failed, type Sent, thrown } from "./delivery.ts";

/**
 * Sends a message for each job. A job whose message cannot be made fails alone: `JSON.stringify`
 * fails on a payload that is nested thousands of levels deep.
 */
export async function sendMade<Job, Message>(
  jobs: readonly Job[],
  make: (job: Job) => Message,
  send: (messages: readonly Message[]) => Promise<Sent[]>,
): Promise<Delivery[]> {
  const all = madeOfAll(jobs, make);
  if (all !== null) return send(all);
  const made = jobs.map((job) => {
    try {
      return { message: make(job) };
    } catch (error) {
      return thrown(error);
    }
  });
  const sent = (await send(made.flatMap((each) => ("message" in each ? [each.message] : [])))).values();
  return made.map((each) => ("message" in each ? (sent.next().value ?? unsaid) : each));
}

const unsaid = failed("The message has no outcome.");

/** Null if one message cannot be made, which is rare. */
function madeOfAll<Job, Message>(jobs: readonly Job[], make: (job: Job) => Message): Message[] | null {
  try {
    return jobs.map(make);
  } catch {
    return null;
  }
}
