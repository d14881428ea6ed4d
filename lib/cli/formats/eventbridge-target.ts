import type { Json } from "../../client/main.ts";
import { refuseInexactNumbers } from "../../command/exact-numbers.ts";
import { Refusal } from "../../refusal.ts";
import type { AwsTarget } from "./eventbridge-shapes.ts";
import type { JsonObject } from "./found.ts";
import type { Parts } from "./parts.ts";

/** `instead`: the target to use where Carillon cannot call the one that AWS calls. */
export function targetParts(target: AwsTarget, instead: JsonObject | undefined): Parts {
  const own = ownTarget(target);
  const to = own ?? instead;
  const input = inputParts(target);
  const retry = retryParts(target);
  const dead = target.DeadLetterConfig?.Arn ?? null;
  return {
    body: { ...(to === undefined ? {} : { target: to }), ...input.body, ...retry.body },
    differences: [
      ...(own === null && instead !== undefined ? [`goes to --target instead of ${target.Arn}`] : []),
      ...input.differences,
      ...retry.differences,
      ...(dead === null
        ? []
        : [
            `dead jobs are not sent to a dead-letter queue (${dead}): Carillon keeps them, and \`jobs --state dead\` lists them`,
          ]),
      envelopeDifference,
      rightsDifference,
    ],
    faults: [...(to === undefined ? [impossible(target)] : []), ...input.faults],
  };
}

const envelopeDifference =
  "the target receives an envelope (CloudEvents) with the input as its `data`, not only the input";
const rightsDifference =
  "Carillon's workers call the target with their own rights, not with those of RoleArn: the workers need these rights, and the target must be on the allow-list if there is one";

function impossible({ Arn }: AwsTarget): string {
  const what = /:aws-sdk:/.test(Arn) ? "a universal target" : "a target of this service";
  return `${Arn}: Carillon does not call ${what}; name another target with --target`;
}

function ownTarget({ Arn, SqsParameters, EventBridgeParameters }: AwsTarget): JsonObject | null {
  const [, service = "", resource = ""] = /^arn:aws[a-z-]*:([a-z0-9-]+):[^:]*:\d{12}:(.+)$/.exec(Arn) ?? [];
  if (service === "lambda" && resource.startsWith("function:")) return { lambda: Arn };
  if (service === "sqs") {
    const groupId = SqsParameters?.MessageGroupId ?? null;
    return { queue: Arn, ...(groupId === null ? {} : { groupId }) };
  }
  if (service !== "events" || !resource.startsWith("event-bus/")) return null;
  const { Source: source = null, DetailType: detailType = null } = EventBridgeParameters ?? {};
  return {
    event: {
      bus: Arn,
      ...(source === null ? {} : { source }),
      ...(detailType === null ? {} : { detailType }),
    },
  };
}

function inputParts({ Input = null, InputPath = null, InputTransformer }: AwsTarget): Parts {
  const faults: string[] = [];
  if (InputPath !== null || (InputTransformer ?? null) !== null)
    faults.push("InputPath and InputTransformer select from the event of AWS, which Carillon does not have");
  if (Input === null)
    return {
      body: {},
      differences: ["it has no Input: its payload is null instead of the event of AWS"],
      faults,
    };
  const differences = /<aws\.(scheduler|events)\.[a-z-]+>/.test(Input)
    ? ["`<aws.scheduler.…>` in its Input is not replaced: the envelope has the time, the id and the attempt"]
    : [];
  try {
    refuseInexactNumbers(Input);
    const payload: Json = JSON.parse(Input);
    return { body: { payload }, differences, faults };
  } catch (error) {
    if (error instanceof Refusal) return { body: {}, differences, faults: [...faults, error.message] };
    // Not a fault: AWS sends an Input that is not JSON to a queue as text.
    return {
      body: { payload: Input },
      differences: [...differences, "its Input is not JSON: the payload is its text"],
      faults,
    };
  }
}

const byDefault = { retries: 185, ageSeconds: 86_400 };
const attemptsMax = 100;

function retryParts({ RetryPolicy }: AwsTarget): Omit<Parts, "faults"> {
  const retries = RetryPolicy?.MaximumRetryAttempts ?? byDefault.retries;
  const ageSeconds = RetryPolicy?.MaximumEventAgeInSeconds ?? byDefault.ageSeconds;
  const differences: string[] = [];
  const body: JsonObject = {};
  if (retries === byDefault.retries) {
    differences.push(
      "AWS retries up to 185 times in a day; Carillon makes up to five attempts within minutes (`retry`)",
    );
  } else {
    const attempts = Math.min(retries + 1, attemptsMax);
    body["retry"] = { attempts };
    if (attempts < retries + 1) differences.push(`it has at most ${attempts} attempts, not ${retries + 1}`);
  }
  if (ageSeconds !== byDefault.ageSeconds) {
    body["deadline"] = `${ageSeconds}s`;
    differences.push(
      `MaximumEventAgeInSeconds is its \`deadline\`: a job that would start more than ${ageSeconds} s late is skipped`,
    );
  }
  return { body, differences };
}
