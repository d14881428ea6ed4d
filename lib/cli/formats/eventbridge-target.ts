import type { Json } from "../../client/main.ts";
import { refuseInexactNumbers } from "../../command/exact-numbers.ts";
import { Refusal } from "../../refusal.ts";
import type { AwsTarget } from "./eventbridge-shapes.ts";
import type { JsonObject } from "./found.ts";

/** What of a schedule its target says, and what becomes other. */
export interface TargetParts {
  body: JsonObject;
  differences: string[];
  faults: string[];
}

/** `instead`: where it goes if AWS sends it to where Carillon cannot. */
export function targetParts(target: AwsTarget, instead: JsonObject | undefined): TargetParts {
  const own = ownTarget(target);
  const to = own ?? instead;
  const input = inputParts(target);
  const retry = retryParts(target);
  const dead = target.DeadLetterConfig?.Arn ?? null;
  return {
    body: { ...(to === undefined ? {} : { target: to }), ...input.body, ...retry.body },
    differences: [
      ...(own === null && instead !== undefined ? [`goes to --target, no more to ${target.Arn}`] : []),
      ...input.differences,
      ...retry.differences,
      ...(dead === null
        ? []
        : [
            `what fails for good is sent to no dead-letter queue (${dead}): it is kept, and listed by \`jobs --state dead\``,
          ]),
      envelopeDifference,
      rightsDifference,
    ],
    faults: [...(to === undefined ? [impossible(target)] : []), ...input.faults],
  };
}

const envelopeDifference =
  "the target receives an envelope (CloudEvents) with the input as its `data`, and not the input alone";
const rightsDifference =
  "Carillon's workers call the target with their own rights, not with those of RoleArn: they need them, and the target a place on the allow-list where there is one";

function impossible({ Arn }: AwsTarget): string {
  const what = /:aws-sdk:/.test(Arn) ? "a universal target" : "a target of this service";
  return `${Arn}: Carillon does not call ${what}; --target says where it goes instead`;
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

function inputParts({ Input = null, InputPath = null, InputTransformer }: AwsTarget): TargetParts {
  const faults: string[] = [];
  if (InputPath !== null || (InputTransformer ?? null) !== null)
    faults.push("InputPath and InputTransformer take parts of the event of AWS, which there is none of here");
  if (Input === null)
    return { body: {}, differences: ["it has no Input: its payload is null, and no event of AWS"], faults };
  const differences = /<aws\.(scheduler|events)\.[a-z-]+>/.test(Input)
    ? [
        "`<aws.scheduler.…>` in its Input stays as it is written: the envelope has the time, the id and the attempt",
      ]
    : [];
  try {
    refuseInexactNumbers(Input);
    const payload: Json = JSON.parse(Input);
    return { body: { payload }, differences, faults };
  } catch (error) {
    if (error instanceof Refusal) return { body: {}, differences, faults: [...faults, error.message] };
    // SQS takes any text.
    return {
      body: { payload: Input },
      differences: [...differences, "its Input is no JSON: the payload is that text"],
      faults,
    };
  }
}

const byDefault = { retries: 185, ageSeconds: 86_400 };
const attemptsMax = 100;

function retryParts({ RetryPolicy }: AwsTarget): Omit<TargetParts, "faults"> {
  const retries = RetryPolicy?.MaximumRetryAttempts ?? byDefault.retries;
  const ageSeconds = RetryPolicy?.MaximumEventAgeInSeconds ?? byDefault.ageSeconds;
  const differences: string[] = [];
  const body: JsonObject = {};
  if (retries === byDefault.retries) {
    differences.push(
      "AWS tries again up to 185 times in a day; here a job is tried five times, in some minutes (`retry`)",
    );
  } else {
    const attempts = Math.min(retries + 1, attemptsMax);
    body["retry"] = { attempts };
    if (attempts < retries + 1) differences.push(`it is tried ${attempts} times at most, not ${retries + 1}`);
  }
  if (ageSeconds !== byDefault.ageSeconds) {
    body["deadline"] = `${ageSeconds}s`;
    differences.push(
      `MaximumEventAgeInSeconds is its \`deadline\`: a job that would start more than ${ageSeconds} s late is skipped`,
    );
  }
  return { body, differences };
}
