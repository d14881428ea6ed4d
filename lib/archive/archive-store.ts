import { PutObjectCommand, type S3Client } from "@aws-sdk/client-s3";

import { gotNoAnswer } from "../config/aws.ts";
import { isOfTheNetwork } from "../config/network-failure.ts";
import { OfNoRow } from "../quarantine/in-halves.ts";

/** Where archives go; an object that is put again is another, whole. */
export interface ArchiveStore {
  put(name: string, body: Uint8Array, type: ArchivedType): Promise<void>;
}

/** By what it is for whoever reads it: parts are compressed, and say so by their names. */
export type ArchivedType = "application/gzip" | "application/json";

export function s3Store(s3: S3Client, { bucket, prefix }: { bucket: string; prefix: string }): ArchiveStore {
  return {
    put: async (name, body, type) => {
      try {
        await s3.send(
          new PutObjectCommand({ Bucket: bucket, Key: `${prefix}${name}`, Body: body, ContentType: type }),
        );
      } catch (error) {
        // The objects of other days would wait as long.
        throw gotNoAnswer(error) || isOfTheNetwork(error) ? new OfNoRow(error) : error;
      }
    },
  };
}
