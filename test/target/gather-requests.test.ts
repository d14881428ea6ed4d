import { expect, test } from "vitest";
import { done, failed, type Sent } from "../../lib/target/delivery.ts";
import { gathered } from "../../lib/target/gather-requests.ts";
import { Sending } from "../../lib/target/sending.ts";

interface Entry {
  name: string;
  bytes: number;
}

/** Requests that the test ends. */
function requestsByHand() {
  const time = { leftMs: 60_000 };
  const sent: { names: string[]; end: (outcomes?: Sent[]) => Promise<void>; fail: () => Promise<void> }[] =
    [];
  const send = gathered<Entry>((batch) => {
    const { promise, resolve, reject } = Promise.withResolvers<Sent[]>();
    const settled = () => new Promise<void>((turn) => setImmediate(turn));
    sent.push({
      names: batch.map(({ name }) => name),
      end: (outcomes = batch.map(() => done)) => {
        resolve(outcomes);
        return settled();
      },
      fail: () => {
        reject(new Error("no answer"));
        return settled();
      },
    });
    return promise;
  });
  const named = (prefix: string, count: number, bytes = 100): Entry[] =>
    Array.from({ length: count }, (_, n) => ({ name: `${prefix}${n}`, bytes }));
  return {
    sent,
    time,
    send: (prefix: string, count: number, bytes?: number) =>
      send(named(prefix, count, bytes), new Sending(() => time.leftMs)),
  };
}

test("entries that come while a request is under way go together in the next", async () => {
  const { sent, send } = requestsByHand();
  const all = [send("a", 4), send("b", 3), send("c", 2)];
  expect(sent.map(({ names }) => names)).toEqual([["a0", "a1", "a2", "a3"]]);
  await sent[0]?.end();
  expect(sent[1]?.names).toEqual(["b0", "b1", "b2", "c0", "c1"]);
  const bad = failed("refused");
  await sent[1]?.end([done, bad, done, bad, done]);
  expect(await Promise.all(all)).toEqual([
    [done, done, done, done],
    [done, bad, done],
    [bad, done],
  ]);
});

test("a full request does not wait, and the remaining entries wait for it", async () => {
  const { sent, send } = requestsByHand();
  const all = send("a", 24);
  expect(sent.map(({ names }) => names.length)).toEqual([10, 10]);
  await sent[0]?.end();
  expect(sent).toHaveLength(2);
  await sent[1]?.end();
  expect(sent[2]?.names).toEqual(["a20", "a21", "a22", "a23"]);
  await sent[2]?.end();
  expect(await all).toHaveLength(24);
});

test("a request that is full by its size does not wait", async () => {
  const { sent, send } = requestsByHand();
  const all = send("a", 5, 100_000);
  expect(sent.map(({ names }) => names.length)).toEqual([2, 2]);
  await sent[0]?.end();
  await sent[1]?.end();
  await sent[2]?.end();
  expect(await all).toEqual([done, done, done, done, done]);
});

test("at most eight requests are under way", async () => {
  const { sent, send } = requestsByHand();
  const all = send("a", 100);
  expect(sent).toHaveLength(8);
  for (let n = 0; n < 10; n++) await sent[n]?.end();
  expect((await all).length).toBe(100);
});

test("a request that throws fails its own callers, and no other", async () => {
  const { sent, send } = requestsByHand();
  const first = send("a", 2);
  const second = send("b", 2);
  const failing = expect(first).rejects.toThrow("no answer");
  await sent[0]?.fail();
  await failing;
  await sent[1]?.end();
  expect(await second).toEqual([done, done]);
});

test("when time is short, waiting messages go back and requests under way are awaited", async () => {
  const { sent, send, time } = requestsByHand();
  const first = send("a", 4);
  const behind = [send("b", 3), send("c", 2)];
  time.leftMs = 10_000;
  await sent[0]?.end();
  await sent[1]?.end();
  expect(await first).toEqual([done, done, done, done]);
  const back = { kind: "back" };
  expect(await Promise.all(behind)).toEqual([
    [back, back, back],
    [back, back],
  ]);
  expect(sent).toHaveLength(1);
});
