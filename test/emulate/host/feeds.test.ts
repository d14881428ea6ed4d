import { describe, expect, test } from "vitest";
import { ingestQueue, jobQueues } from "../../../lib/tools/local/local-functions.ts";
import { feedsOf, localNameOf, queueIdsOf } from "./feeds.ts";
import { profileTemplate } from "./profile-template.ts";
import { withoutLambda } from "./without-lambda.ts";

describe("the local functions at the queues of LocalStack", () => {
  const whole = profileTemplate();
  const ofType = (type: string) =>
    Object.entries(whole.Resources).flatMap(([id, { Type }]) => (Type === type ? [id] : []));

  test("each event source mapping of the profile gets a local function at its queue", () => {
    const feeds = feedsOf(whole);
    expect(feeds).toHaveLength(ofType("AWS::Lambda::EventSourceMapping").length);
    expect(feeds.map(({ consumer }) => consumer).toSorted()).toEqual(["fastWorker", "ingest", "slowWorker"]);
    for (const { queueId, batchSize } of feeds) {
      expect(whole.Resources[queueId]?.Type).toBe("AWS::SQS::Queue");
      expect(batchSize).toBeGreaterThan(0);
    }
  });

  test("each queue that the local functions name is a queue of the profile, and no two are the same", () => {
    const names = [jobQueues.fast, jobQueues.slow, ingestQueue].flatMap(({ name, deadLetters }) =>
      deadLetters === undefined ? [name] : [name, deadLetters.name],
    );
    const ids = queueIdsOf(whole);
    expect([...ids.keys()].toSorted()).toEqual(names.toSorted());
    const found = new Set(ids.values());
    expect(found.size).toBe(names.length);
    expect([...found].filter((id) => !ofType("AWS::SQS::Queue").includes(id))).toEqual([]);
  });

  test("the only rule of the profile that would invoke a function invokes the tick", () => {
    const { ruleFeeds } = withoutLambda(whole, "http://127.0.0.1:8787");
    expect(ruleFeeds.map(({ functionId }) => localNameOf(functionId))).toEqual(["tick"]);
  });

  test("a function of the template that no local function replaces is an error with its id", () => {
    expect(() => localNameOf("UnknownFunction0123ABCD")).toThrow("UnknownFunction0123ABCD");
  });
});
