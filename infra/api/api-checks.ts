import { Token } from "aws-cdk-lib";
import { charactersOf } from "../settings/shapes.ts";
import type { Settings } from "../settings.ts";

/** The function is told these by its environment, of whose 4 KB the rest may take 1,600. */
const LISTS_MAX = 2_400;

/** Says everything at once that does not go together in the settings of the API. */
export function checkApi(settings: Settings): void {
  const faults = [
    ...ofTheKind(settings),
    ...ofTheCallers(settings),
    ...ofTheDomain(settings),
    ...tooLong(settings),
  ];
  if (faults.length > 0) throw new Error(["These settings cannot be used:", ...faults].join("\n  "));
}

function ofTheKind(settings: Settings): string[] {
  const faults: string[] = [];
  const keys = settings.apiKeyNames.length > 0;
  if (settings.apiKind === "http") {
    const restOnly = {
      apiMakesLogRole: settings.apiMakesLogRole,
      apiWebAclArn: settings.apiWebAclArn !== undefined,
      apiFirewall: settings.apiFirewall,
      apiKeyNames: keys,
    };
    for (const [name, isGiven] of Object.entries(restOnly))
      if (isGiven) faults.push(`${name}: an HTTP API takes it not; set apiKind to rest`);
  }
  if (settings.apiFirewall && settings.apiWebAclArn !== undefined)
    faults.push("apiFirewall: a web ACL is given in apiWebAclArn already; leave one of them out");
  const limits = [settings.apiKeyRequestsPerSecond, settings.apiKeyRequestsPerDay];
  if (!keys && limits.some((limit) => limit !== undefined))
    faults.push("apiKeyNames: limits for API keys are given and no names; name for whom keys are made");
  return faults;
}

function ofTheCallers({ apiAuth, apiKind, ...settings }: Settings): string[] {
  const faults: string[] = [];
  const principals = settings.apiPrincipals.length > 0;
  if (apiAuth === "iam" && !principals)
    faults.push("apiPrincipals: with apiAuth iam nobody may call who is not named; name a role or user");
  if (apiAuth !== "iam" && principals)
    faults.push("apiPrincipals: they count with apiAuth iam alone; set it");
  const issued = settings.apiJwtIssuer !== undefined && settings.apiJwtAudience.length > 0;
  if (apiAuth === "jwt" && !issued)
    faults.push(
      "apiJwtIssuer, apiJwtAudience: with apiAuth jwt both are needed; give the issuer and an audience",
    );
  if (apiAuth === "jwt" && apiKind === "rest")
    faults.push("apiAuth: a REST API checks no JWTs; set apiKind to http, or take token or iam");
  const ofJwt = settings.apiJwtIssuer !== undefined || settings.apiJwtAudience.length > 0;
  if (apiAuth !== "jwt" && (ofJwt || settings.apiJwtPrefixClaim !== undefined))
    faults.push("apiJwtIssuer, apiJwtAudience, apiJwtPrefixClaim: they count with apiAuth jwt alone; set it");
  if (settings.apiJwtPrefixEnd !== undefined && settings.apiJwtPrefixClaim === undefined)
    faults.push("apiJwtPrefixEnd: it stands behind a claim; name that in apiJwtPrefixClaim");
  return faults;
}

function ofTheDomain(settings: Settings): string[] {
  const { apiDomainName: name, apiHostedZoneName: zone } = settings;
  const faults: string[] = [];
  if ((name === undefined) !== (settings.apiCertificateArn === undefined))
    faults.push("apiDomainName, apiCertificateArn: one goes with the other; give both");
  if ((zone === undefined) !== (settings.apiHostedZoneId === undefined))
    faults.push("apiHostedZoneId, apiHostedZoneName: one goes with the other; give both");
  const known = ![name, zone].some((each) => Token.isUnresolved(each));
  if (known && zone !== undefined && name !== zone && name?.endsWith(`.${zone}`) !== true)
    faults.push(
      `apiHostedZoneName: ${name ?? "no domain name"} does not lie in ${zone}; give the zone that it lies in`,
    );
  return faults;
}

function tooLong(settings: Settings): string[] {
  const lists = {
    targetQueueArns: settings.targetQueueArns,
    targetBusArns: settings.targetBusArns,
    targetFunctionArns: settings.targetFunctionArns,
    webhookDenyNetworks: settings.webhookDenyNetworks,
    apiPrincipals: settings.apiPrincipals,
    apiCorsOrigins: settings.apiCorsOrigins,
  };
  const length = Object.values(lists).reduce((sum, list) => sum + charactersOf(list), 0);
  // Without lists of the API's own this is not its concern.
  if (length <= LISTS_MAX || settings.apiPrincipals.length + settings.apiCorsOrigins.length === 0) return [];
  return [
    `${Object.keys(lists).join(", ")}: together they take ${LISTS_MAX} characters, as much as Lambda has room for, and have ${length}; shorten them`,
  ];
}
