import { type Duration, RemovalPolicy } from "aws-cdk-lib";
import { PolicyDocument, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Architecture, Code, Runtime } from "aws-cdk-lib/aws-lambda";
import { type BundlingOptions, NodejsFunction, OutputFormat } from "aws-cdk-lib/aws-lambda-nodejs";
import { LogGroup, type RetentionDays } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";
import type { Network, Place } from "../network/network.ts";
import { acknowledge } from "../watch/acknowledge.ts";
import type { FunctionCode, FunctionEntry } from "./function-code.ts";
import { requireForModules } from "./function-format.ts";

export interface CarillonFunctionProps {
  /** The file in functions/ that holds the handler, without its ending. */
  readonly entry: FunctionEntry;
  readonly code: FunctionCode;
  readonly description: string;
  /** Of the functions that query. Default: it stands outside, where it reaches the internet and nothing of ours. */
  readonly network?: Network;
  readonly timeout: Duration;
  readonly memoryMiB: number;
  readonly logRetention: RetentionDays;
  /** What must be in the bundle beside the code. Default: nothing. */
  readonly commandHooks?: BundlingOptions["commandHooks"];
}

/** A function of functions/, with a role of its own that may write its log, and nothing else until something grants it. */
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
      // Not the role as a whole: what is granted later has to have its own reason.
      acknowledge(
        role.node.defaultChild ?? role,
        "IAM5[Resource::*]",
        "Network interfaces know no resource before they exist; these are the actions by which Lambda puts a function into the network, and no others.",
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
      ...(place === undefined ? {} : inside(place)),
      environment: {
        // The roots that sign RDS's certificates come with Lambda, but Node has to be told to trust them; who queries nothing has not to.
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
        // The versions that the tests ran with, not those that Lambda happens to have.
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
 * How Lambda puts a function into the network. These actions know no resource to be bound to before the interface exists, and
 * the managed policy that is usual here asks for the same and for every log group as well.
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
