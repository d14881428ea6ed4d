import { expect, test } from "vitest";
import { acceptanceOf } from "../../lib/command/acceptance.ts";
import { allowedTargetsFrom } from "../../lib/command/allowed-targets.ts";
import { defineJob } from "../../lib/job/define-job.ts";
import { withoutSameNames } from "../../lib/job/same-names.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";

const handler = (name: string) => defineJob({ name, run: async () => {} });
const targets = allowedTargetsFrom({ AWS_REGION: "eu-central-1" });
const bodyFor = (name: string) => parseScheduleBody({ when: "@daily", target: { handler: name } });

test("a schedule of a name that two handlers have is refused with a sentence, and other handlers are taken", () => {
  const own = withoutSameNames([handler("report"), handler("remind"), handler("report")]);
  expect(own.handlers.map(({ name }) => name)).toEqual(["remind"]);
  const acceptance = acceptanceOf({ ...own, targets });
  expect(() => acceptance.body(bodyFor("remind"), "a")).not.toThrow();
  expect(() => acceptance.body(bodyFor("report"), "a")).toThrow(
    "Several handlers have the name report, so none of them runs: give each a name of its own.",
  );
});

test("handlers with a name each are all taken", () => {
  const handlers = [handler("report"), handler("remind")];
  expect(withoutSameNames(handlers)).toEqual({ handlers, handlersFault: undefined });
});
