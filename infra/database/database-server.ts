import type { IMetric, MetricOptions } from "aws-cdk-lib/aws-cloudwatch";
import type { ISecurityGroup } from "aws-cdk-lib/aws-ec2";
import type { IGrantable } from "aws-cdk-lib/aws-iam";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { ISecret, Secret } from "aws-cdk-lib/aws-secretsmanager";
import type { FunctionRole as DatabaseUser } from "../../lib/db/migrate/iam-logins.ts";

export type { DatabaseUser };

/** Where connections are made to. */
export interface Entrance {
  readonly host: string;
  /** A number, or what CloudFormation puts in its place. */
  readonly port: string;
  /** Lets a function in as this user and as no other, and tells it how. */
  admit(fn: LambdaFunction, user: DatabaseUser): void;
}

/** A Postgres, whoever runs it: what the functions, and those who watch over it, have to know. */
export interface DatabaseServer extends Entrance {
  readonly name: string;
  /** Of the user who owns everything. Only the migration may read it. */
  readonly masterSecret: ISecret;
  /** What lies between it and functions in a VPC. */
  readonly way: Way;
  /** The secrets with the passwords of the functions' users. Default: IAM lets them in. */
  readonly roleSecrets?: Readonly<Record<DatabaseUser, Secret>>;
  /** Variables that say how functions are sure of it. Default: its certificate is verified by what Node trusts. */
  readonly trust?: Readonly<Record<string, string>>;
  /** What RDS measures of it. Default: it is not RDS that runs it. */
  readonly metrics?: DatabaseMetrics;
}

export interface Way {
  readonly port: number;
  /** To a security group that opens for the functions, or into networks that they may connect to; none leads nowhere. */
  readonly to: ISecurityGroup | readonly string[];
}

export interface DatabaseMetrics {
  /** An instance is of a size; a serverless cluster is of one that follows the load, on storage that has no end of its own. */
  readonly kind: "instance" | "serverless";
  /** By RDS's name. */
  of(name: string, options: MetricOptions): IMetric;
}

/** What IAM lets somebody into. */
export interface AdmittingByIam {
  grantConnect(grantee: IGrantable, user: string): unknown;
}

export function admitByIam(entrance: AdmittingByIam, fn: LambdaFunction, user: DatabaseUser): void {
  fn.addEnvironment("DATABASE_USER", user);
  fn.addEnvironment("DATABASE_AUTH", "iam");
  entrance.grantConnect(fn, user);
}
