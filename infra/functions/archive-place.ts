import { Stack } from "aws-cdk-lib";
import type { Construct } from "constructs";
import type { EndpointUse } from "../network/endpoint-policy.ts";

/** Where the archive is in S3. */
export interface ArchivePlace {
  readonly bucket: string;
  readonly prefix: string;
}

/** All objects that the archive writes. */
function archivedObjects(scope: Construct, { bucket, prefix }: ArchivePlace): string {
  return Stack.of(scope).formatArn({
    service: "s3",
    region: "",
    account: "",
    resource: bucket,
    resourceName: `${prefix}jobs/*`,
  });
}

/**
 * The archive's rights in S3: it puts its own objects, and cannot read, list or delete any. The name
 * of a bucket does not tell its account.
 */
export function archiveUse(scope: Construct, place: ArchivePlace): EndpointUse {
  return { actions: ["s3:PutObject"], resources: [archivedObjects(scope, place)] };
}
