import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import type { Tx } from "../../lib/db/connect.ts";
import { defineJob, type JobHandler } from "../../lib/job/define-job.ts";
import type { HandlerJob, HandlerSchedules, ScheduleInput } from "../../lib/job/handler-context.ts";
import { again, done, giveUp, retryAfter, retryAt } from "../../lib/job/handler-results.ts";
import type { HandlerSql, PlainSql } from "../../lib/job/handler-sql.ts";
import { readPayload } from "../../lib/job/read-payload.ts";
import type { scheduleShape } from "../../lib/schedule/shape/schedule-shape.ts";

const base = { name: "x", payload: z.unknown(), run: async () => {} };

describe("the definition of a handler", () => {
  test("a definition has the traits of its handler, and defaults for those left out", () => {
    expect(defineJob(base)).toMatchObject({
      name: "x",
      grouped: false,
      concurrency: null,
      rate: null,
      maxChecks: 5,
      maxAheadMs: 30 * 86_400_000,
    });
    const bounded = { ...base, maxChecks: 0, maxAhead: "90d", concurrency: 3 };
    expect(defineJob({ ...bounded, grouped: true, rate: "100/m" })).toMatchObject({
      grouped: true,
      concurrency: 3,
      rate: { count: 100, perMs: 60_000 },
      maxChecks: 0,
      maxAheadMs: 90 * 86_400_000,
    });
    expect(defineJob({ ...base, rate: "10/s" }).rate).toEqual({ count: 10, perMs: 1_000 });
    expect(defineJob({ ...base, rate: "7/h" }).rate).toEqual({ count: 7, perMs: 3_600_000 });
  });

  test.each([
    [{ name: "Greet" }, /name "Greet" takes lower-case/],
    [{ name: "" }, /name/],
    [{ concurrency: 0 }, /concurrency takes a whole number from 1/],
    [{ concurrency: 1.5 }, /concurrency/],
    [{ rate: "10" }, /rate takes a text like/],
    [{ rate: "0/s" }, /rate/],
    [{ rate: "10/d" }, /rate/],
    [{ maxChecks: -1 }, /maxChecks takes a whole number from 0 to 1000/],
    [{ maxChecks: 1_001 }, /maxChecks/],
    [{ maxAhead: "a month" }, /maxAhead takes a duration/],
    [{ maxAhead: "0s" }, /maxAhead/],
    [{ maxAhead: "367d" }, /maxAhead/],
  ])("a definition with the invalid setting %j is refused when the program starts", (part, message) => {
    expect(() => defineJob({ ...base, ...part })).toThrow(message);
  });
});

describe("a result of a handler", () => {
  test.each(["soon", "", "-1h", "2 hours", "1.5h"])(
    "`again` and `retryAfter` take no duration like %j",
    (text) => {
      expect(() => again(text)).toThrow(`again(${JSON.stringify(text)}): a duration has the form`);
      expect(() => retryAfter(text)).toThrow("retryAfter(");
    },
  );

  test("`again` and `retryAt` take no invalid date", () => {
    expect(() => again(new Date("?"))).toThrow("again() was given an invalid date");
    expect(() => retryAt(new Date("?"))).toThrow("retryAt() was given an invalid date");
  });

  test("the result of a handler keeps its date when the caller's date object changes", () => {
    const date = new Date(0);
    const made = [again(date), retryAt(date)];
    date.setTime(Number.NaN);
    expect(made).toMatchObject([{ wanted: { at: new Date(0) } }, { wanted: { at: new Date(0) } }]);
  });

  test("the result that a handler throws is an error with its message and its cause", () => {
    const cause = new Error("why");
    for (const error of [
      giveUp("no", { cause }),
      retryAfter("5m", { message: "no", cause }),
      retryAt(new Date(), { message: "no", cause }),
    ])
      expect(error).toMatchObject({
        message: "no",
        cause,
        stack: expect.stringContaining("Caused by Error: why"),
      });
  });
});

describe("the types of a handler", () => {
  const payload = z.object({ orderId: z.int(), since: z.coerce.date().optional() });
  type Payload = { orderId: number; since?: Date | undefined };

  test("the types of a handler depend on its schema, on `grouped` and on `transaction`", () => {
    const made: JobHandler[] = [
      defineJob({
        name: "single",
        payload,
        run: async (job, context) => {
          expectTypeOf(job).toEqualTypeOf<HandlerJob<Payload>>();
          expectTypeOf(context.job).toEqualTypeOf<HandlerJob<Payload>>();
          expectTypeOf(context.sql).toEqualTypeOf<Tx>();
          expectTypeOf(context.schedule).toEqualTypeOf<HandlerSchedules>();
          expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>();
          return job.checks === 0 ? again("1h") : done;
        },
      }),
      defineJob({
        name: "outside",
        payload,
        transaction: false,
        run: async (job, context) => {
          expectTypeOf(job.payload.orderId).toEqualTypeOf<number>();
          // @ts-expect-error it holds no transaction
          context.sql;
          // @ts-expect-error and so edits no schedules in a transaction
          context.schedule;
        },
      }),
      defineJob({
        name: "grouped",
        payload,
        grouped: true,
        run: async (jobs, context) => {
          expectTypeOf(jobs).toEqualTypeOf<readonly HandlerJob<Payload>[]>();
          expectTypeOf(context.group).toEqualTypeOf<string | null>();
          expectTypeOf(context.sql).toEqualTypeOf<Tx>();
          // @ts-expect-error a grouped handler has several jobs
          context.job;
          return jobs.map(({ id }) => [id, id === "7" ? giveUp("no") : done] as const);
        },
      }),
      defineJob({
        name: "grouped-outside",
        payload,
        grouped: true,
        transaction: false,
        run: async (jobs, context) => {
          expectTypeOf(jobs).toEqualTypeOf<readonly HandlerJob<Payload>[]>();
          // @ts-expect-error a handler without a transaction has no sql
          context.sql;
          return new Map(jobs.map(({ id }) => [id, again("1h")]));
        },
      }),
    ];
    expect(made.map(({ grouped }) => grouped)).toEqual([false, false, true, true]);
  });

  test("a handler without a schema takes any payload, whose type is unknown", () => {
    const handler = defineJob({
      name: "any",
      run: async (job, context) => {
        expectTypeOf(job.payload).toEqualTypeOf<unknown>();
        expectTypeOf(context.sql).toEqualTypeOf<Tx>();
      },
    });
    const payload = { deep: [1, null] };
    expect(readPayload(handler, payload)).toEqual({ payload, faults: null });
  });

  test("the type of `sql` for an app without the package postgres is a part of the real one", () => {
    expectTypeOf<Tx>().toExtend<PlainSql>();
    expectTypeOf<HandlerSql>().toEqualTypeOf<Tx>();
  });

  test("a schedule that a handler puts has the fields of the API's schedules", () => {
    expectTypeOf<keyof ScheduleInput>().toEqualTypeOf<keyof z.input<typeof scheduleShape>>();
    type Sent = Omit<z.input<typeof scheduleShape>, "startsAt" | "endsAt" | "target">;
    expectTypeOf<Sent>().toExtend<Omit<ScheduleInput, "startsAt" | "endsAt" | "target">>();
  });

  test("the types of a handler allow no other result", () => {
    // @ts-expect-error a number is no result
    defineJob({ name: "number", payload, run: async () => 7 });
    // @ts-expect-error a failure is thrown
    defineJob({ name: "error", payload, run: async () => retryAfter("5m") });
    // @ts-expect-error each job of a group needs a result
    defineJob({ name: "group", payload, grouped: true, run: async () => again("1h") });
  });
});
