import type { IMetric, MetricOptions } from "aws-cdk-lib/aws-cloudwatch";
import type { ISecurityGroup } from "aws-cdk-lib/aws-ec2";
import type { IGrantable } from "aws-cdk-lib/aws-iam";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { ISecret, Secret } from "aws-cdk-lib/aws-secretsmanager";
import type { FunctionRole as DatabaseUser } from "../../lib/db/migrate/iam-logins.ts";

export type { DatabaseUser };

/** The endpoint that functions connect to. */
export interface Entrance {
  readonly host: string;
  /** A number, or a CloudFormation token. */
  readonly port: string;
  /**
   * Allows a function to connect as this user and as no other, and sets the variables that it needs
   * to do so.
   */
  admit(fn: LambdaFunction, user: DatabaseUser): void;
}

/** A Postgres server of any kind: the properties that the functions and the alarms need. */
export interface DatabaseServer extends Entrance {
  readonly name: string;
  /** The secret of the owner. Only the migration may read it. */
  readonly masterSecret: ISecret;
  /** The network path from functions in a VPC to the server. */
  readonly way: Way;
  /** The secrets with the passwords of the functions' users. Default: they authenticate by IAM. */
  readonly roleSecrets?: Readonly<Record<DatabaseUser, Secret>>;
  /**
   * Variables by which functions verify the server. Default: its certificate is verified against
   * Node's own roots.
   */
  readonly trust?: Readonly<Record<string, string>>;
  /** The server's metrics in RDS. Default: RDS does not run this server. */
  readonly metrics?: DatabaseMetrics;
}

export interface Way {
  readonly port: number;
  /**
   * A security group that opens for the functions, or networks that they may connect to; an empty
   * list gives no access.
   */
  readonly to: ISecurityGroup | readonly string[];
}

export interface DatabaseMetrics {
  /**
   * An instance has a fixed size. A serverless cluster follows the load, on storage without a fixed
   * limit.
   */
  readonly kind: "instance" | "serverless";
  /** By RDS's name of the metric. */
  of(name: string, options: MetricOptions): IMetric;
}

/** Servers and proxies that authenticate users by IAM. */
export interface AdmittingByIam {
  grantConnect(grantee: IGrantable, user: string): unknown;
}

export function admitByIam(entrance: AdmittingByIam, fn: LambdaFunction, user: DatabaseUser): void {
  fn.addEnvironment("DATABASE_USER", user);
  fn.addEnvironment("DATABASE_AUTH", "iam");
  entrance.grantConnect(fn, user);
}
