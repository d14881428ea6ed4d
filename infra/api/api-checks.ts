import { Token } from "aws-cdk-lib";
import { charactersOf } from "../settings/shapes.ts";
import type { Settings } from "../settings.ts";

/**
 * The API's function receives these lists in its environment; other variables may use 1,600 bytes
 * of the 4 KB.
 */
const LISTS_MAX = 2_400;

/** Reports every conflict between the API's settings in one error. */
export function checkApi(settings: Settings): void {
  const faults = [
    ...ofTheKind(settings),
    ...ofTheCallers(settings),
    ...ofThePage(settings),
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
      if (isGiven) faults.push(`${name}: an HTTP API does not support it; set apiKind to rest`);
  }
  if (settings.apiFirewall && settings.apiWebAclArn !== undefined)
    faults.push("apiFirewall: apiWebAclArn already names a web ACL; set only one of the two");
  const limits = [settings.apiKeyRequestsPerSecond, settings.apiKeyRequestsPerDay];
  if (!keys && limits.some((limit) => limit !== undefined))
    faults.push("apiKeyNames: limits for API keys are set, but no keys; give the keys' names");
  return faults;
}

function ofTheCallers({ apiAuth, apiKind, ...settings }: Settings): string[] {
  const faults: string[] = [];
  const principals = settings.apiPrincipals.length > 0;
  if (apiAuth === "iam" && !principals)
    faults.push("apiPrincipals: apiAuth iam admits only named principals; name at least one role or user");
  if (apiAuth !== "iam" && principals) faults.push("apiPrincipals: they need apiAuth iam; set it");
  const issued = settings.apiJwtIssuer !== undefined && settings.apiJwtAudience.length > 0;
  if (apiAuth === "jwt" && !issued)
    faults.push("apiJwtIssuer, apiJwtAudience: apiAuth jwt needs both; give the issuer and an audience");
  if (apiAuth === "jwt" && apiKind === "rest")
    faults.push("apiAuth: a REST API cannot check JWTs; set apiKind to http, or use token or iam");
  const ofJwt = settings.apiJwtIssuer !== undefined || settings.apiJwtAudience.length > 0;
  if (apiAuth !== "jwt" && (ofJwt || settings.apiJwtPrefixClaim !== undefined))
    faults.push("apiJwtIssuer, apiJwtAudience, apiJwtPrefixClaim: they need apiAuth jwt; set it");
  if (settings.apiJwtPrefixEnd !== undefined && settings.apiJwtPrefixClaim === undefined)
    faults.push("apiJwtPrefixEnd: it needs a claim; name the claim in apiJwtPrefixClaim");
  return faults;
}

/** The page makes these parameters itself. */
const ownParameters: readonly string[] = [
  ...["client_id", "redirect_uri", "response_type", "response_mode", "scope", "state", "nonce"],
  ...["code_challenge", "code_challenge_method", "request", "request_uri"],
];

function ofThePage(settings: Settings): string[] {
  const faults: string[] = [];
  const { apiAuth, page, pageClientId, pageScopes, pageSignInParameters } = settings;
  if (pageClientId === undefined) {
    const ofSignIn = { pageScopes, pageSignInParameters, pageConnectOrigins: settings.pageConnectOrigins };
    for (const [name, list] of Object.entries(ofSignIn))
      if (list.length > 0) faults.push(`${name}: it needs a client of the page; give pageClientId`);
  } else {
    if (apiAuth !== "jwt")
      faults.push("pageClientId: the page signs in with an issuer only with apiAuth jwt; set it");
    if (!page) faults.push("pageClientId: the page is off; set page to true, or leave the client out");
  }
  if (pageScopes.length > 0 && !pageScopes.includes("openid"))
    faults.push("pageScopes: without openid the page cannot check whom the answer is for; add it");
  const taken = pageSignInParameters.flatMap((each) =>
    ownParameters.filter((name) => each.startsWith(`${name}=`)),
  );
  if (taken.length > 0)
    faults.push(`pageSignInParameters: the page sets ${taken.join(", ")} itself; leave them out`);
  return faults;
}

function ofTheDomain(settings: Settings): string[] {
  const { apiDomainName: name, apiHostedZoneName: zone } = settings;
  const faults: string[] = [];
  if ((name === undefined) !== (settings.apiCertificateArn === undefined))
    faults.push("apiDomainName, apiCertificateArn: each needs the other; give both");
  if ((zone === undefined) !== (settings.apiHostedZoneId === undefined))
    faults.push("apiHostedZoneId, apiHostedZoneName: each needs the other; give both");
  const known = ![name, zone].some((each) => Token.isUnresolved(each));
  if (known && zone !== undefined && name !== zone && name?.endsWith(`.${zone}`) !== true)
    faults.push(
      `apiHostedZoneName: ${name ?? "no domain name"} is not in ${zone}; give the zone that contains it`,
    );
  return faults;
}

function tooLong(settings: Settings): string[] {
  const lists = {
    targetQueueArns: settings.targetQueueArns,
    targetBusArns: settings.targetBusArns,
    targetEventSources: settings.targetEventSources,
    targetFunctionArns: settings.targetFunctionArns,
    targetPrefixes: settings.targetPrefixes,
    webhookDenyNetworks: settings.webhookDenyNetworks,
    apiPrincipals: settings.apiPrincipals,
    apiCorsOrigins: settings.apiCorsOrigins,
  };
  const length = Object.values(lists).reduce((sum, list) => sum + charactersOf(list), 0);
  // Without lists of the API's own, the other settings' checks cover the length.
  if (length <= LISTS_MAX || settings.apiPrincipals.length + settings.apiCorsOrigins.length === 0) return [];
  return [
    `${Object.keys(lists).join(", ")}: together they have ${length} characters, and Lambda's environment has room for ${LISTS_MAX}; shorten them`,
  ];
}
