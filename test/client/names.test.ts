import fc from "fast-check";
import { expect, test } from "vitest";
import { Carillon, CarillonInputError } from "../../lib/client/main.ts";
import { nameFault } from "../../lib/client/request/names.ts";
import { keyFault } from "../../lib/schedule/shape/schedule-key.ts";

function setup() {
  const sent: string[] = [];
  const carillon = new Carillon({
    url: "https://api.example.com",
    token: "t",
    retries: 0,
    fetch: async (input) => {
      sent.push(String(input));
      return new Response("{}");
    },
  });
  return { carillon, sent };
}

const unfit = ["", ".", "..", "a/b", "../tokens", "a/pause", "a?b", "\ud800", " a", "x".repeat(256)];

test.each(unfit)("The key %j is refused with its fault, and nothing is sent", async (key) => {
  const { carillon, sent } = setup();
  const calls = [
    carillon.schedules.get(key),
    carillon.schedules.delete(key),
    carillon.schedules.put(key, { when: "in 3h", target: { queue: "q" } }),
    carillon.schedules.jobs(key).page(),
    carillon.request({ method: "POST", path: ["v1", "schedules", key, "pause"] }),
    carillon.groups.pause(key),
    carillon.tags.get(key),
    carillon.calendars.delete(key),
    carillon.jobs.cancel(key),
    carillon.tokens.delete(key),
    carillon.commands.delete(key),
  ];
  for (const call of calls) await expect(call).rejects.toThrow(CarillonInputError);
  await expect(carillon.schedules.get(key)).rejects.toThrow(
    `The key ${nameFault(key)}: ${JSON.stringify(key)}.`,
  );
  expect(sent).toEqual([]);
});

test("A target's name may contain `/`, but may not be empty, `.` or `..`", async () => {
  const { carillon, sent } = setup();
  await carillon.limits.get("webhook/api.example.com");
  expect(sent).toEqual(["https://api.example.com/v1/limits/webhook%2Fapi.example.com"]);
  for (const target of ["", ".", ".."]) await expect(carillon.limits.get(target)).rejects.toThrow(TypeError);
});

test("The client refuses the same keys as the API", () => {
  const odd = fc.constantFrom(
    "/",
    ".",
    "%",
    "\\",
    " ",
    "\u200b",
    "\u3164",
    "\u034f",
    "e",
    "\u0301",
    "\ud800",
    "\ufffe",
    "é",
    "😀",
    "x".repeat(255),
  );
  const texts = fc.array(fc.oneof(odd, fc.string({ unit: "binary", maxLength: 3 })), { maxLength: 4 });
  fc.assert(
    fc.property(texts, (parts) => {
      const text = parts.join("");
      expect(nameFault(text) === null).toBe(keyFault(text) === null);
    }),
    { numRuns: 2_000 },
  );
});
