import { Stack } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";

/** Where in S3 the archive stands. */
export interface ArchivePlace {
  readonly bucket: string;
  readonly prefix: string;
}

/** All that the archive writes. */
export function archivedObjects(scope: Construct, { bucket, prefix }: ArchivePlace): string {
  return Stack.of(scope).formatArn({
    service: "s3",
    region: "",
    account: "",
    resource: bucket,
    resourceName: `${prefix}jobs/*`,
  });
}

/** What of S3 the archive may do: put its own objects, and read, list or delete none. */
export function archiveStatement(scope: Construct, place: ArchivePlace): PolicyStatement {
  return new PolicyStatement({ actions: ["s3:PutObject"], resources: [archivedObjects(scope, place)] });
}
