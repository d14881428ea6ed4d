import { Lazy } from "aws-cdk-lib";
import type { IHostedZone } from "aws-cdk-lib/aws-route53";
import type { CarillonResources } from "./parts.ts";
import type { GivenSettings } from "./settings/given.ts";

/** The settings with those that the resources stand for. Refuses what is given in both ways. */
export function withResources({
  alarmTopic,
  ticketTopic,
  targetQueues,
  targetBuses,
  targetFunctions,
  apiCertificate,
  apiHostedZone,
  databaseInstance,
  ...given
}: GivenSettings & CarillonResources): GivenSettings {
  const named: Readonly<Partial<Record<keyof CarillonResources, GivenSettings>>> = {
    ...(alarmTopic && { alarmTopic: { alarmTopicArn: alarmTopic.topicArn } }),
    ...(ticketTopic && { ticketTopic: { ticketTopicArn: ticketTopic.topicArn } }),
    ...(targetQueues && { targetQueues: { targetQueueArns: targetQueues.map((queue) => queue.queueArn) } }),
    ...(targetBuses && { targetBuses: { targetBusArns: targetBuses.map((bus) => bus.eventBusArn) } }),
    ...(targetFunctions && {
      targetFunctions: { targetFunctionArns: targetFunctions.map((fn) => fn.functionArn) },
    }),
    ...(apiCertificate && { apiCertificate: { apiCertificateArn: apiCertificate.certificateArn } }),
    ...(apiHostedZone && { apiHostedZone: zoneSettings(apiHostedZone) }),
    ...(databaseInstance && { databaseInstance: { databaseClass: databaseInstance.toString() } }),
  };
  refuseBoth(given, named);
  return Object.assign({}, given, ...Object.values(named));
}

function refuseBoth(given: object, named: Readonly<Record<string, object>>): void {
  const isGiven = new Set(
    Object.entries(given).flatMap(([setting, value]) => (value === undefined ? [] : [setting])),
  );
  const faults = Object.entries(named).flatMap(([name, settings]) => {
    const both = Object.keys(settings).filter((setting) => isGiven.has(setting));
    return both.length === 0
      ? []
      : [`${name}: ${both.join(", ")} is given as well; give only one of the two`];
  });
  if (faults.length > 0) throw new Error(["These settings cannot be used:", ...faults].join("\n  "));
}

/** Until the CDK has looked a zone up, its id is a placeholder, which is not of the form of an id. */
function zoneSettings(zone: IHostedZone): GivenSettings {
  return {
    apiHostedZoneId: Lazy.string({ produce: () => zone.hostedZoneId }),
    apiHostedZoneName: zone.zoneName,
  };
}
