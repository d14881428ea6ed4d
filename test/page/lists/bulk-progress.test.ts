import { expect, test } from "vitest";
import { Carillon } from "../../../lib/client/main.ts";
import { changeAll, changingText, doneText } from "../../../lib/page/data/bulk/change-all.ts";
import { releasedText } from "../../../lib/page/data/bulk/released-text.ts";

/** A client whose every call changes 1,000 schedules, and leaves more until the last of these calls. */
function answering(calls: number) {
  const cursors: (string | null)[] = [];
  const carillon = new Carillon({
    url: "http://carillon.test",
    token: "token",
    fetch: async (input) => {
      cursors.push(new URL(String(input)).searchParams.get("cursor"));
      const left = cursors.length < calls ? { cursor: `after-${cursors.length}` } : {};
      return Response.json({ done: 1_000, unchanged: 1, failed: 0, failures: [], ...left });
    },
  });
  return { carillon, cursors };
}

const pause = { verb: "pause", filter: { prefix: "billing:" } } as const;

test("A bulk action that is stopped ends after the call under way, and says that the rest is as it was", async () => {
  const { carillon, cursors } = answering(5);
  const told: number[] = [];
  const changed = await changeAll(carillon, {
    action: pause,
    onPart: (done) => told.push(done),
    isStopped: () => told.length === 2,
  });
  expect(cursors).toEqual([null, "after-1"]);
  expect(told).toEqual([1_000, 2_000]);
  expect(doneText(changed, "held")).toBe(
    "Stopped before the end: schedules that are not counted here are as they were. 2,000 schedules are held. 2 were so already.",
  );
  const { done, ...rest } = changed;
  expect(releasedText({ hold: "Your hold", done, held: { count: 3, more: false }, rest })).toBe(
    "Your hold ended on 2,000 schedules. Stopped before the end: schedules that are not counted here are as they were. 2 did not have it. Of all these, 3 are still held.",
  );
});

test("A stop during the last call of a bulk action changes nothing in its result", async () => {
  const { carillon, cursors } = answering(2);
  const changed = await changeAll(carillon, {
    action: pause,
    onPart: () => {},
    isStopped: () => cursors.length === 2,
  });
  expect(changed).toEqual({ done: 2_000, unchanged: 2, failed: 0, failures: [], isStopped: false });
  expect(doneText(changed, "held")).toBe("2,000 schedules are held. 2 were so already.");
});

test.each([
  {
    count: 3_000,
    more: false,
    text: "1,000 of 3,000 schedules are held …",
    share: { done: 1_000, of: 3_000 },
  },
  { count: 10_000, more: true, text: "1,000 of 10,000+ schedules are held …", share: undefined },
])("Of $count schedules (more: $more) a bulk action says how far it is", ({ text, share, ...counted }) => {
  expect(changingText(1_000, counted, "held")).toEqual({ text, share });
});
