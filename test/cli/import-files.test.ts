import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readCrontabs } from "../../lib/cli/formats/crontab.ts";
import { readEventBridge } from "../../lib/cli/formats/eventbridge.ts";
import { readScheduleFiles } from "../../lib/cli/formats/schedule-files.ts";

const read = (name: string, text: string) =>
  readScheduleFiles({ files: [{ name, text, isStdin: false }] }).found;

describe("a file of schedules", () => {
  test("A YAML file may use anchors and merges", () => {
    const text = "a: &base\n  when: every 1h\n  target: { queue: q }\nb:\n  <<: *base\n  when: every 2h\n";
    expect(read("x.yaml", text)).toMatchObject([
      { key: "a", body: { when: "every 1h" }, faults: [] },
      { key: "b", body: { when: "every 2h", target: { queue: "q" } }, faults: [] },
    ]);
  });

  test("Text that looks like a time, a day or a word stays text", () => {
    const text =
      "when: at 2035-01-01T09:00\nstartsAt: 2034-01-01T00:00:00Z\ntarget: {queue: on}\npayload: [0x10, no]\n";
    expect(read("x.yaml", text)[0]?.body).toEqual({
      when: "at 2035-01-01T09:00",
      startsAt: "2034-01-01T00:00:00Z",
      target: { queue: "on" },
      payload: [16, "no"],
    });
  });

  test.each([
    ["key: a\nkey: b\nwhen: x\n", "duplicate key"],
    ["a:\n  <<: 5\n  when: every 1h\n", "is not YAML"],
    ["a: *nowhere\n", "in quotes"],
    ["just words\n", "takes a schedule"],
    ["when: every 1h\npayload: .inf\n", "too large"],
    ["key: 5\nwhen: every 1h\n", "key takes a text"],
    ["a: {key: b, when: every 1h}\n", 'its own key "b" differs from its name "a" in the file'],
    [
      `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n`,
      "is not YAML",
    ],
  ])("A bad file is refused with its fault: %j", (text, fault) => {
    expect(
      read("x.yaml", text)
        .flatMap(({ faults }) => faults)
        .join("\n"),
    ).toContain(fault);
  });

  test("An empty file has no schedules", () => {
    for (const text of ["", "---\n", "# only words\n", "{}"]) expect(read("x.yaml", text)).toEqual([]);
  });
});

test("Any file is read or refused, and never fails the command", () => {
  const token = fc.constantFrom(
    ..."when: |target: |key|- |* |&a |*a |<<: |[|]|{|}|\"|'|:|#|\n|\n  |---\n|@daily|%|0 |5/|~|CRON_TZ=|!!set |? |Name|Target|\\".split(
      "|",
    ),
  );
  const text = fc.oneof(
    fc.array(token, { maxLength: 30 }).map((tokens) => tokens.join("")),
    fc.string({ unit: "binary" }),
  );
  fc.assert(
    fc.property(text, (text) => {
      const file = { text, isStdin: false };
      for (const name of ["a.yaml", "a.json"]) readScheduleFiles({ files: [{ ...file, name }] });
      readCrontabs([{ ...file, name: "crontab" }], { target: {}, timezone: undefined, system: false });
      readEventBridge([{ ...file, name: "a.json" }], { target: undefined });
    }),
    { numRuns: 1_000 },
  );
  fc.assert(
    fc.property(fc.json(), (text) => {
      readEventBridge([{ name: "a.json", text, isStdin: false }], { target: undefined });
    }),
  );
});
