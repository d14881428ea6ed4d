import { Match } from "aws-cdk-lib/assertions";
import { expect, test } from "vitest";
import { z } from "zod";
import { type Synthesised, synthesised } from "./synthesised.ts";
import { variants } from "./variants.ts";

const archived = { archiveBucket: "orders-ledger", archivePrefix: "carillon/orders/" };

const statements = z.array(
  z.looseObject({ Action: z.unknown(), Resource: z.unknown(), Principal: z.unknown().optional() }),
);
const document = z.object({ Statement: statements });

function rightsOnS3(stack: Synthesised): { to: string; action: unknown; on: string }[] {
  return stack.ofType("AWS::IAM::Policy").flatMap(([id, { Properties }]) =>
    document
      .parse(Properties["PolicyDocument"])
      .Statement.filter(({ Action }) => JSON.stringify(Action).includes("s3:"))
      .map(({ Action, Resource }) => ({ to: id, action: Action, on: JSON.stringify(Resource) })),
  );
}

test("without a bucket there is no archive and no route to S3, and the tick drops days by their age alone", () => {
  const stack = synthesised();
  expect(
    stack.template.findResources("AWS::Lambda::Function", {
      Properties: { Description: Match.stringLikeRegexp("archive") },
    }),
  ).toEqual({});
  expect(rightsOnS3(stack)).toEqual([]);
  expect(JSON.stringify(stack.ofType("AWS::EC2::VPCEndpoint"))).not.toContain(".s3");
  expect(JSON.stringify(stack.ofType("AWS::Lambda::Function"))).not.toContain("ARCHIVES");
});

test("with a bucket only the archive's function may put the archive's objects, and no other right in S3 is granted", () => {
  const stack = synthesised(archived);
  const [right, ...others] = rightsOnS3(stack);
  expect(others).toEqual([]);
  expect(right).toMatchObject({ to: expect.stringMatching(/^ArchiveFunctionRole/), action: "s3:PutObject" });
  expect(right?.on).toContain(":s3:::orders-ledger/carillon/orders/jobs/*");
  stack.template.hasResourceProperties("AWS::Lambda::Function", {
    Timeout: 900,
    Environment: {
      Variables: Match.objectLike({
        ARCHIVE_BUCKET: "orders-ledger",
        ARCHIVE_PREFIX: "carillon/orders/",
        RETENTION_DAYS: "30",
        DATABASE_USER: "carillon_archive",
      }),
    },
  });
  stack.template.hasResourceProperties("AWS::Lambda::Function", {
    Environment: {
      Variables: Match.objectLike({ ARCHIVES: "true", RETENTION_DAYS: "30", AUDIT_RETENTION_DAYS: "365" }),
    },
  });
  stack.template.hasResourceProperties("AWS::Events::Rule", { ScheduleExpression: "rate(1 hour)" });
});

test("a network that is made here has a gateway to S3, which allows only the archive's objects", () => {
  const gateways = synthesised(archived)
    .ofType("AWS::EC2::VPCEndpoint")
    .map(([, { Properties }]) => Properties)
    .filter(({ VpcEndpointType }) => VpcEndpointType === "Gateway");
  expect(gateways).toHaveLength(1);
  const { Statement } = document.parse(gateways[0]?.["PolicyDocument"]);
  expect(Statement).toMatchObject([{ Action: "s3:PutObject", Principal: { AWS: "*" } }]);
  expect(JSON.stringify(Statement[0]?.Resource)).toContain(":s3:::orders-ledger/carillon/orders/jobs/*");
});

test("an existing VPC has its own route to S3, which functions may use", () => {
  const stack = synthesised({ ...variants["own VPC"], ...archived });
  expect(JSON.stringify(stack.ofType("AWS::EC2::VPCEndpoint"))).not.toContain(".s3");
  stack.template.hasResourceProperties("AWS::EC2::SecurityGroupEgress", {
    CidrIp: "0.0.0.0/0",
    FromPort: 443,
  });
});

test("a day that waits for the archive for more than a day raises an alarm", () => {
  const [alarm] = synthesised(archived)
    .ofType("AWS::CloudWatch::Alarm")
    .map(([, { Properties }]) => Properties)
    .filter(({ MetricName }) => MetricName === "ArchiveLagMs");
  expect(alarm).toMatchObject({ Threshold: 86_400_000, Namespace: "Carillon" });
});

test("a bucket's name is checked, and a prefix with characters that S3 would encode is refused", () => {
  expect(() => synthesised({ archiveBucket: "Orders Ledger" })).toThrow(
    "archiveBucket: it takes the name of a bucket",
  );
  expect(() => synthesised({ ...archived, archivePrefix: "a?b" })).toThrow("archivePrefix: it takes letters");
});
