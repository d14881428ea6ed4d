import path from "node:path";
import { Aws, CfnCondition, Duration, Fn, Stack } from "aws-cdk-lib";
import type { ILogGroup, RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { functionTimeoutSeconds } from "../../lib/config/function-limits.ts";
import { inConsole } from "../../lib/config/logs-link.ts";
import { packageRoot } from "../package-root.ts";
import type { ApiSettings } from "../settings/api.ts";
import { CarillonFunction } from "./carillon-function.ts";
import type { FunctionCode } from "./function-code.ts";

export interface PageProps {
  readonly settings: ApiSettings;
  readonly logRetention: RetentionDays;
  readonly code: FunctionCode;
}

const TIMEOUT = Duration.seconds(functionTimeoutSeconds.page);
const builder = path.join(packageRoot, "infra", "tools", "package", "write-page.ts");

/**
 * Whether the stack has the page. The page signs in with a token, or with an issuer that knows it as
 * a client, and sends neither signatures nor API keys.
 */
export function hasPage({ page, apiAuth, apiKeyNames, pageClientId }: ApiSettings): boolean {
  const signsIn = apiAuth === "token" || (apiAuth === "jwt" && pageClientId !== undefined);
  return page && signsIn && apiKeyNames.length === 0;
}

/**
 * The function that serves the page. It is outside of the network, has no login to the database,
 * and its role may only write its log: what it sends is the same for every reader.
 */
export class Page extends Construct {
  readonly fn: CarillonFunction;
  private readonly logsLink: string | undefined;

  constructor(scope: Construct, id: string, { code, logRetention, settings }: PageProps) {
    super(scope, id);
    this.fn = new CarillonFunction(this, "Function", {
      entry: "page",
      code,
      description: "Carillon: serves the page",
      timeout: TIMEOUT,
      // It answers from memory. With less, it starts slowly.
      memoryMiB: 256,
      logRetention,
      commandHooks: {
        beforeBundling: () => [],
        beforeInstall: () => [],
        afterBundling: (_input, output) => [`"${process.execPath}" "${builder}" "${output}"`],
      },
    });
    const variables = { PAGE_DIRECTORY: "/var/task/page", ...signInVariables(settings) };
    if (settings.pageName !== "none")
      this.fn.addEnvironment("PAGE_NAME", settings.pageName ?? Stack.of(this).stackName);
    for (const [name, value] of Object.entries(variables)) this.fn.addEnvironment(name, value);
    this.logsLink = settings.pageLogsLink;
  }

  /** Tells the page where the log of a job is: by the settings, or in these groups of CloudWatch. */
  linkLogs(groups: readonly ILogGroup[]): void {
    if (this.logsLink === "none") return;
    this.fn.addEnvironment("PAGE_LOGS_LINK", this.logsLink ?? this.linkInConsole(groups));
  }

  /** The console of another partition has another address, so there the variable is left out. */
  private linkInConsole(groups: readonly ILogGroup[]): string {
    const isAws = new CfnCondition(this, "HasConsole", {
      expression: Fn.conditionEquals(Aws.PARTITION, "aws"),
    });
    const link = logsInsightsLink(Stack.of(this).region, groups);
    return Fn.conditionIf(isAws.logicalId, link, Aws.NO_VALUE).toString();
  }
}

/**
 * A query in CloudWatch's console for the lines of a job. The console escapes characters with `*` in
 * values and with `$` in the fragment. A generated name of a log group needs no escape.
 */
function logsInsightsLink(region: string, groups: readonly ILogGroup[]): string {
  const query = inConsole('fields @timestamp, level, event, error, @message\n| filter job = "');
  const end = inConsole('"\n| sort @timestamp asc\n| limit 1000');
  const source = groups.map(({ logGroupName }) => `~'${logGroupName}`).join("");
  return [
    `https://${region}.console.aws.amazon.com/cloudwatch/home?region=${region}`,
    "#logsV2:logs-insights$3FqueryDetail$3D",
    `~(end~'{to*}~start~'{from*}~timeType~'ABSOLUTE~tz~'UTC`,
    `~editorString~'${query}{jobId*}${end}~source~(${source}))`,
  ].join("");
}

/** The variables that tell the page's function where its readers sign in. None holds a secret. */
function signInVariables(settings: ApiSettings): Record<string, string> {
  const { apiJwtIssuer, apiJwtScopePrefix, pageClientId, pageScopes } = settings;
  if (apiJwtIssuer === undefined || pageClientId === undefined) return {};
  const scopes = pageScopes.length > 0 ? pageScopes : ["openid", `${apiJwtScopePrefix}read`];
  return {
    PAGE_ISSUER: apiJwtIssuer,
    PAGE_CLIENT_ID: pageClientId,
    PAGE_SCOPES: scopes.join(" "),
    ...listVariable("PAGE_SIGN_IN_PARAMETERS", settings.pageSignInParameters),
    ...listVariable("PAGE_CONNECT_ORIGINS", settings.pageConnectOrigins),
  };
}

function listVariable(name: string, list: readonly string[]): Record<string, string> {
  return list.length === 0 ? {} : { [name]: list.join(" ") };
}
