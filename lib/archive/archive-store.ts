import { PutObjectCommand, type S3Client } from "@aws-sdk/client-s3";

import { gotNoAnswer } from "../config/aws.ts";
import { isOfTheNetwork } from "../config/network-failure.ts";
import { OfNoRow } from "../quarantine/in-halves.ts";

/** Where archives are stored. An object that is put again replaces the earlier one as a whole. */
export interface ArchiveStore {
  put(name: string, body: Uint8Array, type: ArchivedType): Promise<void>;
}

/**
 * The content type that readers see. Parts are gzip files, not transport encoding; their names end
 * in `.gz`.
 */
export type ArchivedType = "application/gzip" | "application/json";

export function s3Store(s3: S3Client, { bucket, prefix }: { bucket: string; prefix: string }): ArchiveStore {
  return {
    put: async (name, body, type) => {
      try {
        await s3.send(
          new PutObjectCommand({ Bucket: bucket, Key: `${prefix}${name}`, Body: body, ContentType: type }),
        );
      } catch (error) {
        // The store or the network failed, so no day is at fault: the objects of other days would
        // fail in the same way.
        throw gotNoAnswer(error) || isOfTheNetwork(error) ? new OfNoRow(error) : error;
      }
    },
  };
}
