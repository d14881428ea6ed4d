import { type Duration, RemovalPolicy } from "aws-cdk-lib";
import { PolicyDocument, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Architecture, Code, RecursiveLoop, Runtime } from "aws-cdk-lib/aws-lambda";
import { type BundlingOptions, NodejsFunction, OutputFormat } from "aws-cdk-lib/aws-lambda-nodejs";
import { LogGroup, type RetentionDays } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";
import type { Network, Place } from "../network/network.ts";
import { acknowledge } from "../watch/acknowledge.ts";
import type { FunctionCode, FunctionEntry } from "./function-code.ts";
import { requireForModules } from "./function-format.ts";

export interface CarillonFunctionProps {
  /** The file in functions/ that exports the handler, without its extension. */
  readonly entry: FunctionEntry;
  readonly code: FunctionCode;
  readonly description: string;
  /**
   * The network, for functions that query. Default: none; the function reaches the internet and no
   * private resource.
   */
  readonly network?: Network;
  readonly timeout: Duration;
  readonly memoryMiB: number;
  readonly logRetention: RetentionDays;
  /** Whether one event may lead back to the function any number of times. Default: no. */
  readonly mayComeBack?: boolean;
  /** Commands that add files to the bundle. Default: none. */
  readonly commandHooks?: BundlingOptions["commandHooks"];
}

/**
 * A function of functions/. Its role may write its own log, and nothing else until a grant is
 * added.
 */
export class CarillonFunction extends NodejsFunction {
  readonly logs: LogGroup;

  constructor(scope: Construct, id: string, props: CarillonFunctionProps) {
    const logs = new LogGroup(scope, `${id}Logs`, {
      retention: props.logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const place = props.network?.place;
    const role = new Role(scope, `${id}Role`, {
      assumedBy: new ServicePrincipal("lambda.amazonaws.com"),
      ...(place === undefined ? {} : { inlinePolicies: { Network: networkInterfaces() } }),
    });
    logs.grantWrite(role);
    if (place !== undefined) {
      // Only this policy, not the whole role: later grants need their own reasons.
      acknowledge(
        role.node.defaultChild ?? role,
        "IAM5[Resource::*]",
        "Network interfaces have no ARN before they exist; these are exactly the actions that Lambda needs to attach a function to the network.",
      );
    }

    const built = props.code.builtOf(props.entry);
    super(scope, id, {
      description: props.description,
      ...(built === undefined ? { entry: props.code.entryOf(props.entry) } : { code: Code.fromAsset(built) }),
      handler: built === undefined ? "handler" : "index.handler",
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      timeout: props.timeout,
      memorySize: props.memoryMiB,
      role,
      logGroup: logs,
      ...(props.mayComeBack === true ? { recursiveLoop: RecursiveLoop.ALLOW } : {}),
      ...(place === undefined ? {} : inside(place)),
      environment: {
        // Lambda ships the roots that sign RDS's certificates, but Node must be pointed to them.
        // Functions without queries need none.
        ...(props.network === undefined ? {} : { NODE_EXTRA_CA_CERTS: "/var/runtime/ca-cert.pem" }),
        NODE_OPTIONS: "--enable-source-maps",
      },
      awsSdkConnectionReuse: false,
      depsLockFilePath: props.code.lockFile,
      bundling: {
        format: OutputFormat.ESM,
        target: "node24",
        mainFields: ["module", "main"],
        minify: true,
        sourceMap: true,
        sourcesContent: false,
        // The versions that the tests ran with, not those that Lambda ships.
        bundleAwsSDK: true,
        banner: requireForModules,
        esbuildArgs: props.code.esbuildArgs,
        ...(props.commandHooks === undefined ? {} : { commandHooks: props.commandHooks }),
      },
    });
    this.logs = logs;
  }
}

function inside({ vpc, subnets, functions }: Place) {
  return { vpc, vpcSubnets: subnets, securityGroups: [functions] };
}

/**
 * The rights that Lambda needs to attach the function to the network. These actions cannot be
 * limited to a resource before the interface exists. The usual managed policy has the same actions,
 * and those for every log group as well.
 */
function networkInterfaces(): PolicyDocument {
  return new PolicyDocument({
    statements: [
      new PolicyStatement({
        actions: [
          "ec2:CreateNetworkInterface",
          "ec2:DescribeNetworkInterfaces",
          "ec2:DescribeSubnets",
          "ec2:DeleteNetworkInterface",
          "ec2:AssignPrivateIpAddresses",
          "ec2:UnassignPrivateIpAddresses",
        ],
        resources: ["*"],
      }),
    ],
  });
}
