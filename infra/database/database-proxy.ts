import { Duration, Names, RemovalPolicy } from "aws-cdk-lib";
import { type IMetric, Metric } from "aws-cdk-lib/aws-cloudwatch";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { LogGroup, type RetentionDays } from "aws-cdk-lib/aws-logs";
import { DatabaseProxy, DefaultAuthScheme, type ProxyTarget } from "aws-cdk-lib/aws-rds";
import { Construct } from "constructs";
import type { Place } from "../network/network.ts";
import { proxyConnectionsPercent } from "./connection-budget.ts";
import {
  type AdmittingByIam,
  admitByIam,
  type DatabaseUser,
  type Entrance,
  type Way,
} from "./database-server.ts";
import { ownPort } from "./own-server.ts";

export interface ProxiedServer {
  readonly target: ProxyTarget;
  readonly database: AdmittingByIam;
}

export interface DatabaseProxyProps extends ProxiedServer {
  readonly place: Place;
  /**
   * How many connections the database accepts at once; the proxy leaves some of them to the
   * migration and to engineers.
   */
  readonly maxConnections: number;
  readonly logRetention: RetentionDays;
}

/**
 * Shorter than any function's timeout: a function that gets no connection fails as if it was
 * rejected, and is retried.
 */
const BORROW_TIMEOUT = Duration.seconds(10);
/**
 * A function does not use a connection that was idle for 30 s, and a frozen environment keeps none.
 */
const IDLE_TIMEOUT = Duration.minutes(1);

/**
 * RDS Proxy between the functions and the database. A function connects with its own IAM token, as
 * its own user, and the proxy connects to the database as that user, also by IAM: no password is
 * involved. The migration bypasses the proxy.
 */
export class FunctionsProxy extends Construct implements Entrance {
  readonly host: string;
  readonly port = String(ownPort);
  readonly way: Way;
  /** How many of the proxy's connections are pinned to one client by the statements run on them. */
  readonly pinned: IMetric;
  private readonly proxy: DatabaseProxy;
  private readonly role: Role;
  private readonly database: AdmittingByIam;

  constructor(scope: Construct, id: string, props: DatabaseProxyProps) {
    super(scope, id);
    const { place, maxConnections } = props;
    this.database = props.database;
    this.role = new Role(this, "Role", { assumedBy: new ServicePrincipal("rds.amazonaws.com") });
    const securityGroup = place.securityGroup("Proxy", "RDS Proxy of Carillon");
    // RDS itself lower-cases the name; with capitals, its log and its metrics would not be found.
    const dbProxyName = Names.uniqueResourceName(this, { maxLength: 60 }).toLowerCase();
    // RDS would create this log group itself, without an expiry.
    const logs = new LogGroup(this, "Logs", {
      logGroupName: `/aws/rds/proxy/${dbProxyName}`,
      retention: props.logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.proxy = new DatabaseProxy(this, "Proxy", {
      dbProxyName,
      proxyTarget: props.target,
      defaultAuthScheme: DefaultAuthScheme.IAM_AUTH,
      role: this.role,
      requireTLS: true,
      vpc: place.vpc,
      vpcSubnets: place.subnets,
      securityGroups: [securityGroup],
      maxConnectionsPercent: proxyConnectionsPercent(maxConnections),
      borrowTimeout: BORROW_TIMEOUT,
      idleClientTimeout: IDLE_TIMEOUT,
    });
    this.proxy.node.addDependency(logs);
    this.host = this.proxy.endpoint;
    this.way = { to: securityGroup, port: ownPort };
    this.pinned = new Metric({
      namespace: "AWS/RDS",
      metricName: "DatabaseConnectionsCurrentlySessionPinned",
      dimensionsMap: { ProxyName: this.proxy.dbProxyName },
      statistic: "Sum",
      period: Duration.minutes(1),
    });
  }

  admit(fn: LambdaFunction, user: DatabaseUser): void {
    admitByIam(this.proxy, fn, user);
    this.database.grantConnect(this.role, user);
  }
}
