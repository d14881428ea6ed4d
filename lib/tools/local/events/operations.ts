import * as z from "zod";
import { type Bus, ruleArn } from "./bus.ts";
import type { BusStore, Rule, Target } from "./bus-store.ts";
import { transformerFault } from "./input-transformer.ts";
import { busName, name, OperationFault, parseJson, read } from "./operation-input.ts";
import { compilePattern } from "./pattern.ts";
import { putEvents } from "./put-events.ts";

export type Operation = (input: unknown) => unknown;

const targetsMax = 5;

/** The EventBridge operations of this endpoint, by name. */
export function eventOperations(bus: Bus, store: BusStore): ReadonlyMap<string, Operation> {
  return new Map<string, Operation>([
    ["PutEvents", (input) => putEvents(bus, input)],
    ["TestEventPattern", (input) => testEventPattern(read(testInput, input))],
    ["PutRule", (input) => putRule(bus, read(putRuleInput, input))],
    ["DeleteRule", (input) => deleteRule(store, read(ruleNameInput, input))],
    ["ListRules", (input) => listRules(store, read(listRulesInput, input))],
    ["PutTargets", (input) => putTargets(store, read(putTargetsInput, input))],
    ["RemoveTargets", (input) => removeTargets(store, read(removeTargetsInput, input))],
    ["ListTargetsByRule", (input) => listTargets(store, read(targetsOfInput, input))],
  ]);
}

const testInput = z.strictObject({ EventPattern: z.string(), Event: z.string() });

function testEventPattern({ EventPattern, Event }: z.output<typeof testInput>): unknown {
  const event = parseJson(Event);
  if (typeof event !== "object" || event === null) {
    throw new OperationFault("ValidationException", "Event takes the JSON of an event.");
  }
  return { Result: compilePattern(EventPattern)(event) };
}

const putRuleInput = z.strictObject({
  Name: name,
  EventBusName: busName,
  EventPattern: z.string(),
  State: z.enum(["ENABLED", "DISABLED"]).default("ENABLED"),
  Description: z.string().max(512).nullable().default(null),
});

function putRule(bus: Bus, input: z.output<typeof putRuleInput>): unknown {
  bus.putRule({
    bus: input.EventBusName,
    name: input.Name,
    pattern: input.EventPattern,
    enabled: input.State === "ENABLED",
    description: input.Description,
  });
  return { RuleArn: ruleArn(input.EventBusName, input.Name) };
}

const ruleNameInput = z.strictObject({ Name: name, EventBusName: busName, Force: z.boolean().optional() });

function deleteRule(store: BusStore, { Name, EventBusName }: z.output<typeof ruleNameInput>): unknown {
  if (store.targets(EventBusName, Name).length > 0) {
    throw new OperationFault("ValidationException", "Rule can't be deleted since it has targets.");
  }
  store.deleteRule(EventBusName, Name);
  return {};
}

const listRulesInput = z.strictObject({
  NamePrefix: z.string().default(""),
  EventBusName: busName,
  Limit: z.number().optional(),
});

function listRules(store: BusStore, { NamePrefix, EventBusName }: z.output<typeof listRulesInput>): unknown {
  const found = store.rules(EventBusName).filter((rule) => rule.name.startsWith(NamePrefix));
  return { Rules: found.map(ruleView) };
}

const targetShape = z.strictObject({
  Id: name,
  Arn: z
    .string()
    .regex(/^arn:aws[\w-]*:sqs:[\w-]*:\d*:[\w-]{1,80}(\.fifo)?$/, "takes the ARN of an SQS queue"),
  Input: z.string().nullable().default(null),
  InputPath: z
    .string()
    .regex(/^\$(\.[\w-]+)*$/, "takes a path such as $.detail")
    .nullable()
    .default(null),
  InputTransformer: z
    .strictObject({
      InputPathsMap: z.record(z.string().regex(/^[\w-]{1,256}$/), z.string().max(256)).default({}),
      InputTemplate: z.string().min(1).max(8_192),
    })
    .optional(),
  SqsParameters: z.strictObject({ MessageGroupId: z.string() }).optional(),
  RoleArn: z.string().optional(),
});
const putTargetsInput = z.strictObject({
  Rule: name,
  EventBusName: busName,
  Targets: z.array(targetShape).min(1),
});

function putTargets(
  store: BusStore,
  { Rule, EventBusName, Targets }: z.output<typeof putTargetsInput>,
): unknown {
  knownRule(store, EventBusName, Rule);
  const ids = new Set([
    ...store.targets(EventBusName, Rule).map(({ id }) => id),
    ...Targets.map(({ Id }) => Id),
  ]);
  if (ids.size > targetsMax)
    throw new OperationFault("LimitExceededException", `A rule has up to ${targetsMax} targets.`);
  const targets = Targets.map(toTarget);
  for (const target of targets) refuseUnfitInput(target);
  for (const target of targets) store.putTarget(EventBusName, Rule, target);
  return { FailedEntryCount: 0, FailedEntries: [] };
}

function toTarget(target: z.output<typeof targetShape>): Target {
  return {
    id: target.Id,
    arn: target.Arn,
    input: target.Input,
    inputPath: target.InputPath,
    inputTransformer:
      target.InputTransformer === undefined
        ? null
        : { paths: target.InputTransformer.InputPathsMap, template: target.InputTransformer.InputTemplate },
    messageGroupId: target.SqsParameters?.MessageGroupId ?? null,
  };
}

function refuseUnfitInput({ id, input, inputPath, inputTransformer }: Target): void {
  if ([input, inputPath, inputTransformer].filter((each) => each !== null).length > 1)
    throw new OperationFault(
      "ValidationException",
      `Only one of Input, InputPath, or InputTransformer must be provided for target ${id}.`,
    );
  const fault = inputTransformer === null ? null : transformerFault(inputTransformer);
  if (fault !== null) throw new OperationFault("ValidationException", `Target ${id}: ${fault}`);
}

const removeTargetsInput = z.strictObject({
  Rule: name,
  EventBusName: busName,
  Ids: z.array(z.string()).min(1),
  Force: z.boolean().optional(),
});

function removeTargets(
  store: BusStore,
  { Rule, EventBusName, Ids }: z.output<typeof removeTargetsInput>,
): unknown {
  knownRule(store, EventBusName, Rule);
  const missing = Ids.filter((id) => !store.removeTarget(EventBusName, Rule, id));
  const fault = { ErrorCode: "ResourceNotFoundException", ErrorMessage: "The rule has no such target." };
  return {
    FailedEntryCount: missing.length,
    FailedEntries: missing.map((TargetId) => ({ TargetId, ...fault })),
  };
}

const targetsOfInput = z.strictObject({ Rule: name, EventBusName: busName, Limit: z.number().optional() });

function listTargets(store: BusStore, { Rule, EventBusName }: z.output<typeof targetsOfInput>): unknown {
  knownRule(store, EventBusName, Rule);
  return { Targets: store.targets(EventBusName, Rule).map(({ id, arn }) => ({ Id: id, Arn: arn })) };
}

function knownRule(store: BusStore, bus: string, rule: string): Rule {
  const found = store.rule(bus, rule);
  if (found === undefined) {
    throw new OperationFault("ResourceNotFoundException", `Rule ${rule} does not exist on event bus ${bus}.`);
  }
  return found;
}

function ruleView(rule: Rule): unknown {
  return {
    Name: rule.name,
    Arn: ruleArn(rule.bus, rule.name),
    EventPattern: rule.pattern,
    State: rule.enabled ? "ENABLED" : "DISABLED",
    EventBusName: rule.bus,
    ...(rule.description === null ? {} : { Description: rule.description }),
  };
}
