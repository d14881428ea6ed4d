import { fileURLToPath } from "node:url";
import { localstackSettings, neighbourUrl } from "../../infra/tools/localstack/profile.ts";

const account = "eu-central-1:123456789012";

/**
 * As many names as fit into so many characters; four such lists and a short one reach the limit of all
 * lists together.
 */
function longestList(nameOf: (number: number) => string, length = 450): string {
  const names: string[] = [];
  for (let n = 100; [...names, nameOf(n)].join(",").length <= length; n++) names.push(nameOf(n));
  return names.join(",");
}

const broughtVpc = {
  vpcId: "vpc-0123456789abcdef0",
  vpcSubnetIds: "subnet-0123456789abcdef0,subnet-0123456789abcdef1",
  vpcAvailabilityZones: "eu-central-1a,eu-central-1b",
};

const keyArn = (digit: string) => `arn:aws:kms:${account}:key/${digit.repeat(8)}-0000-0000-0000-000000000000`;

/**
 * Sets of settings, in the form of the context, by descriptive names. Together they give every
 * setting a value besides its default, and use every choice of each enum; a test fails for a
 * missing one.
 */
export const variants: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  default: {},

  "highly available": { highlyAvailable: true, databaseClass: "m7g.large" },

  "limited roles and senders": {
    permissionsBoundary: "developers",
    commandSenders: "arn:aws:iam::123456789012:role/checkout,arn:aws:iam::210987654321:user/ops/import",
  },

  "keys of its own": {
    databaseKeyArn: keyArn("1"),
    queueKeyArn: keyArn("2"),
    secretKeyArn: keyArn("3"),
    logKeyArn: keyArn("4"),
  },

  "own VPC": { ...broughtVpc, endpoints: "sqs,events,lambda,secretsmanager" },

  "own VPC with its own ways out": { ...broughtVpc, endpoints: "none" },

  "existing database": {
    ...broughtVpc,
    database: "existing",
    databaseHost: "orders.cluster.eu-central-1.rds.amazonaws.com",
    databasePort: "5433",
    databaseName: "orders",
    databaseSecretArn: `arn:aws:secretsmanager:${account}:secret:orders/master-AbCdEf`,
    databaseInstanceId: "orders",
    databaseResourceId: "db-ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    databaseSecurityGroupId: "sg-0123456789abcdef0",
    databaseMaxConnections: 400,
  },

  "Aurora, highly available": {
    page: "false",
    database: "aurora",
    databaseCapacityMin: "2",
    databaseCapacityMax: 8,
    highlyAvailable: true,
  },

  "Aurora behind RDS Proxy, easy to remove": {
    database: "aurora",
    databaseProxy: "true",
    databaseProtected: false,
    archiveBucket: "ledger",
  },

  "RDS behind RDS Proxy": { databaseProxy: true },

  "restored from a snapshot, with its backups in another region": {
    databaseSnapshot: "rds:carillon-2026-11-30-03-10",
    databaseBackupRegion: "eu-west-1",
    databaseBackupRegionKeyArn: keyArn("5").replace("eu-central-1", "eu-west-1"),
    databaseMayBeEmpty: "true",
  },

  "restored to an instant, and stopped": {
    databaseRestoredFrom: "db-ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    databaseRestoreTime: "2026-11-30T09:15:00Z",
    stopped: true,
  },

  "a restored Aurora cluster": {
    database: "aurora",
    databaseRestoredFrom: "cluster-ABCDEFGHIJKLMNOPQRSTUVWXYZ",
  },

  "external database": {
    ...broughtVpc,
    database: "external",
    databaseHost: "postgres.example.com",
    databasePort: 6432,
    databaseName: "orders",
    databaseSecretArn: `arn:aws:secretsmanager:${account}:secret:orders/owner-AbCdEf`,
    databaseMaxConnections: 400,
    databaseNetworks: "10.20.0.0/16,10.30.0.0/16",
    databasePasswords: "2",
    databasePrepare: "true",
    databaseCaFile: fileURLToPath(new URL("../fixtures/tls/authority.pem", import.meta.url)),
  },

  // An external database, and functions outside of any VPC.
  LocalStack: localstackSettings({
    url: neighbourUrl,
    secretArn: "arn:aws:secretsmanager:us-east-1:000000000000:secret:carillon/owner-AbCdEf",
  }),

  "larger, and easy to remove": {
    databaseClass: "r7g.xlarge",
    databaseStorageGiB: "100",
    databaseBackupDays: 30,
    databaseProtected: "false",
    databaseLogs: "false",
    databasePrepare: false,
    fastConcurrency: 20,
    slowConcurrency: "50",
    ingestConcurrency: 10,
    tickShards: "16",
    canaryMinutes: "60",
    apiRequestsPerSecond: 500,
    apiRequestBurst: 250,
    logRetentionDays: "3653",
  },

  "another way to watch it": {
    tickBy: "scheduler",
    tickShards: 2,
    canaryMinutes: 0,
    tracing: true,
    stackSchedules: "true",
    dashboard: "false",
    alarmTopicArn: `arn:aws:sns:${account}:alarms`,
    ticketTopicArn: `arn:aws:sns:${account}:tickets`,
    runbookUrl: "https://wiki.example.com/carillon/runbook",
    alarmLatenessSeconds: 5,
    metricsNamespace: "Carillon/Orders",
    lifecycleEvents: "started,succeeded,failed,dead,skipped,missed",
    lifecycleBus: "orders",
    ingestPrefix: "orders:",
    jobRetentionDays: 365,
    auditRetentionDays: 0,
    archiveBucket: "orders-ledger",
    archivePrefix: "carillon/orders/",
    watchRuleArns: `arn:aws:events:${account}:rule/shop-*,arn:aws:events:${account}:rule/orders/placed`,
  },

  "REST API": { apiKind: "rest", apiMakesLogRole: "true" },

  "REST API that is guarded": {
    apiKind: "rest",
    apiAuth: "iam",
    apiPrincipals: ["arn:aws:iam::123456789012:role/deployer admin"],
    apiFirewall: "true",
    apiFirewallRequests: 2_000,
    apiKeyNames: "billing,reports",
    apiKeyRequestsPerSecond: "10",
    apiKeyRequestsPerDay: 100_000,
    apiCorsOrigins: "https://app.example.com",
    apiDomainName: "carillon.example.com",
    apiCertificateArn: `arn:aws:acm:${account}:certificate/0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0`,
  },

  "REST API behind an existing firewall": {
    apiKind: "rest",
    apiWebAclArn: `arn:aws:wafv2:${account}:regional/webacl/ours/0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0`,
    apiRatePerToken: "100/s",
    apiRatePerPrefix: "1000/s, billing:=2000/s",
    apiRequestsPerPrefix: "8",
    quotas: "schedules=2000000, billing:=firesPerMinute=none",
    prefixWeights: "billing:=3, mail:=2",
    targetPrefixes: "billing:=queue/carillon-target-billing-*, shop:=source/carillon",
    apiRequireIfMatch: "true",
  },

  "HTTP API for signed requests": {
    apiAuth: "iam",
    apiPrincipals:
      "arn:aws:iam::123456789012:role/deployer admin, arn:aws:iam::123456789012:role/billing-* write billing:",
  },

  "HTTP API for JWTs, under a name of its own": {
    apiAuth: "jwt",
    apiJwtIssuer: "https://login.example.com/",
    apiJwtAudience: "carillon",
    apiJwtScopeClaim: "permissions",
    apiJwtScopePrefix: "scheduler:",
    apiJwtPrefixClaim: "https://example.com/tenant",
    apiJwtPrefixEnd: ":",
    apiCorsOrigins: "https://app.example.com,http://localhost:5173",
    apiDomainName: "carillon.example.com",
    apiCertificateArn: `arn:aws:acm:${account}:certificate/0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0`,
    apiHostedZoneId: "Z0123456789ABCDEFGHIJ",
    apiHostedZoneName: "example.com",
  },

  "HTTP API for JWTs, with the page": {
    apiAuth: "jwt",
    apiJwtIssuer: "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_AbCdEfGhI",
    apiJwtAudience: "1example23456789",
    apiCorsOrigins: "https://app.example.com",
    pageClientId: "1example23456789",
    pageScopes: "openid,carillon/write",
    pageSignInParameters: "identity_provider=Example",
    pageConnectOrigins: "https://example.auth.eu-central-1.amazoncognito.com",
    pageName: "Billing, production",
    pageLogsLink: "https://logs.example.com/search?q=job:{jobId}&from={from}&to={to}",
  },

  "own network with the ways of handlers": {
    endpoints: "sqs,events,lambda,secretsmanager,dynamodb,s3",
    resourceAccounts: "210987654321,321098765432",
  },

  "longest lists": {
    ingestPrefix: "p".repeat(255),
    metricsNamespace: "n".repeat(255),
    lifecycleBus: "b".repeat(256),
    lifecycleEvents: "started,succeeded,failed,dead,skipped,missed",
    runbookUrl: `https://wiki.example.com/${"r".repeat(275)}`,
    targetQueueArns: longestList((n) => `arn:aws:sqs:${account}:orders-of-customer-${n}.fifo`),
    targetBusArns: longestList((n) => `arn:aws:events:${account}:event-bus/customer-${n}*`),
    targetEventSources: longestList((n) => `com.example.shop-${n}.*`, 200),
    targetFunctionArns: longestList((n) => `arn:aws:lambda:${account}:function:resize-${n}*`),
    webhookDenyNetworks: longestList((n) => `2001:db8:${n}::/48`),
    vpcId: "vpc-0123456789abcdef0",
    vpcSubnetIds: Array.from({ length: 16 }, (_, n) => `subnet-0123456789abcde${n + 10}`),
    vpcAvailabilityZones: Array.from({ length: 16 }, (_, n) => `eu-central-1${"abcd"[n % 4]}`),
  },
};
