import { expect, test } from "vitest";
import * as z from "zod";
import type { JobSummary } from "../../lib/client/main.ts";
import { defineJob } from "../../lib/job/main.ts";
import { jobFollower } from "../../lib/tools/dev/jobs/follow-jobs.ts";
import type { TestCarillon } from "../../lib/tools/testing/test-carillon.ts";
import { kit } from "../kit/kit.ts";

const report = defineJob({ name: "report", payload: z.null(), run: async () => {} });

/** A follower of the jobs of a kit, and what it has told. */
function followed(carillon: TestCarillon) {
  const told: string[] = [];
  const text = ({ key, state, attempt, error }: JobSummary) => `${key} ${state} ${attempt} ${error ?? "-"}`;
  const follower = jobFollower({
    client: carillon.client,
    clock: { now: () => carillon.now(), sleep: async () => {} },
    signal: new AbortController().signal,
    ended: async (jobs) => void told.push(...jobs.map(text)),
    failed: (error) => {
      throw error;
    },
  });
  return { follower, told };
}

const crashed = "The worker stopped without an answer: its lease ended.";

test.each([
  { attempts: 1, lines: [`one dead 1 ${crashed}`] },
  { attempts: 3, lines: [`one retrying 1 ${crashed}`, "one succeeded 2 -"] },
])(
  "A job whose worker died before the start is told when the start ends its lease, with $attempts attempts",
  async ({ attempts, lines }) => {
    await using carillon = await kit({ now: "2027-06-01T10:00:00Z", handlers: [report] });
    const when = "at 2027-06-01T10:10:05Z";
    await carillon.put("one", { when, target: { handler: "report" }, retry: { attempts } });
    await carillon.put("before", { when: "at 2027-06-01T10:05:00Z", target: { queue: "demo" } });
    await carillon.advance("6m");
    carillon.handlerTakes("20s");
    carillon.workerDies();
    await carillon.advance("2027-06-01T10:10:58Z");
    const { follower, told } = followed(carillon);
    await follower.begin();
    for (const until of ["10:11:10", "10:12:00"]) {
      await carillon.advance(`2027-06-01T${until}Z`);
      await follower.look();
    }
    expect(told).toEqual(lines);
  },
);
