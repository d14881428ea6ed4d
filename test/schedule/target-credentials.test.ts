import { describe, expect, test } from "vitest";
import { Refusal } from "../../lib/refusal.ts";
import {
  hiddenDifferences,
  shownTarget,
  withCredentials,
} from "../../lib/schedule/shape/target-credentials.ts";
import { type Target, targetShape } from "../../lib/schedule/shape/target-shape.ts";

const one = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
const two = `whsec_${Buffer.alloc(32, 2).toString("base64")}`;
const three = `whsec_${Buffer.alloc(32, 3).toString("base64")}`;

const hook = (parts: object, url = "https://example.com/hook"): Target =>
  targetShape.parse({ webhook: { url, ...parts } });

const standing = hook({ headers: { Authorization: "Bearer abc", "x-kind": "order" }, secret: [one, two] });

function refused(wanted: Target, current: Target | null): [string, string][] {
  try {
    withCredentials(wanted, current);
  } catch (error) {
    if (error instanceof Refusal && error.kind === "impossible")
      return error.faults.map(({ path, message }) => [path, message]);
  }
  throw new Error("It was not refused.");
}

describe("a webhook as it is shown", () => {
  test("a webhook is shown with its secrets and the headers with credentials hidden", () => {
    expect(shownTarget(standing)).toEqual({
      webhook: {
        url: "https://example.com/hook",
        method: "POST",
        headers: { Authorization: "***", "x-kind": "order" },
        secret: "***",
      },
    });
    expect(shownTarget(hook({}))).toEqual(hook({}));
  });

  test.each([
    "authorization",
    "Cookie",
    "X-Api-Key",
    "X-Auth-Token",
    "X-Amz-Security-Token",
    "X-Session",
    "password",
  ])("the header %s of a webhook is hidden", (name) => {
    expect(JSON.stringify(shownTarget(hook({ headers: { [name]: "canary" } })))).not.toContain("canary");
  });

  test("a webhook keeps its credentials when it is written back as it was shown", () => {
    expect(withCredentials(targetShape.parse(shownTarget(standing)), standing)).toEqual(standing);
    const elsewhere = targetShape.parse({ queue: "demo" });
    expect(withCredentials(elsewhere, standing)).toEqual(elsewhere);
  });

  test("a difference of hidden values is shown by its path, and never by the values", () => {
    expect(hiddenDifferences(standing, standing)).toEqual([]);
    const other = hook({ headers: { Authorization: "Bearer new", "x-kind": "x" }, secret: [one, three] });
    expect(hiddenDifferences(standing, other)).toEqual([
      "target.webhook.headers.Authorization",
      "target.webhook.secret",
    ]);
    // A value that was added or removed already shows in the visible parts.
    expect(hiddenDifferences(standing, hook({}))).toEqual([]);
  });
});

describe("a stored credential", () => {
  test("a stored credential stays when the path, the method or other headers change", () => {
    const wanted = hook(
      { method: "PUT", headers: { authorization: "***", b: "c" }, secret: "***" },
      "https://EXAMPLE.com:443/other",
    );
    expect(withCredentials(wanted, standing)).toEqual(
      hook(
        { method: "PUT", headers: { authorization: "Bearer abc", b: "c" }, secret: [one, two] },
        "https://EXAMPLE.com:443/other",
      ),
    );
  });

  test("a stored credential is removed when the request leaves it out", () => {
    expect(withCredentials(hook({}), standing)).toEqual(hook({}));
  });

  test("a stored secret stays beside a new one, as the older of two", () => {
    expect(withCredentials(hook({ secret: [three, "***"] }), standing)).toEqual(
      hook({ secret: [three, one] }),
    );
  });

  test("a stored credential is sent to no other host, so a caller cannot direct it to a host of their own", () => {
    const wanted = { headers: { authorization: "***" }, secret: "***" };
    for (const url of ["https://evil.example/hook", "https://example.com:444/", "http://example.com/"]) {
      const faults = refused(hook(wanted, url), standing);
      expect(faults.map(([path]) => path)).toEqual([
        "target.webhook.headers.authorization",
        "target.webhook.secret",
      ]);
      expect(faults[0]?.[1]).toContain("is stored for another host");
    }
    expect(withCredentials(hook({ secret: three }, "https://evil.example/"), standing)).toEqual(
      hook({ secret: three }, "https://evil.example/"),
    );
  });

  test.each<[string, Target | null]>([
    ["a new schedule", null],
    ["a schedule with another target", targetShape.parse({ queue: "demo" })],
    ["a webhook without credentials", hook({})],
  ])("`***` is refused if no credential is stored: %s", (_, current) => {
    const faults = refused(hook({ headers: { cookie: "***" }, secret: "***" }), current);
    expect(faults.map(([path]) => path)).toEqual(["target.webhook.headers.cookie", "target.webhook.secret"]);
    expect(faults[0]?.[1]).toContain("send the value itself");
  });

  test("`***` is a plain value in a header without a credential", () => {
    expect(withCredentials(hook({ headers: { "x-stars": "***" } }), null)).toEqual(
      hook({ headers: { "x-stars": "***" } }),
    );
  });
});
