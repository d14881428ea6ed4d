import {
  CfnParameter,
  type DockerImageAssetLocation,
  type FileAssetLocation,
  type FileAssetSource,
  Fn,
  type ISynthesisSession,
  type Stack,
  StackSynthesizer,
} from "aws-cdk-lib";

/** The parameters of the template that say where the zips are. */
export const codeParameters = ["CodeBucket", "CodePrefix"] as const;
const [codeBucket, codePrefix] = codeParameters;

/**
 * Names the code of functions by two parameters. The CDK's own synthesizers do not fit: the default
 * one needs the bucket and the roles of a bootstrap, BootstraplessSynthesizer takes no assets, and
 * LegacyStackSynthesizer has three parameters for each asset, which only the CDK's CLI fills in.
 */
export class CodeSynthesizer extends StackSynthesizer {
  private readonly nameOf: (asset: FileAssetSource) => string;

  constructor(nameOf: (asset: FileAssetSource) => string) {
    super();
    this.nameOf = nameOf;
  }

  override bind(stack: Stack): void {
    super.bind(stack);
    new CfnParameter(stack, codeBucket, {
      description: "The bucket, in the region of the stack, that has the zips of the functions' code.",
      allowedPattern: "^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$",
      constraintDescription: "the name of a bucket",
    });
    new CfnParameter(stack, codePrefix, {
      description: "The prefix of the zips' names in that bucket, such as carillon/.",
      default: "",
      allowedPattern: "^([a-zA-Z0-9!_.*'()=-]+/)*$",
      constraintDescription: "nothing, or a prefix that ends in /",
      maxLength: 500,
    });
  }

  override addFileAsset(asset: FileAssetSource): FileAssetLocation {
    const bucketName = Fn.ref(codeBucket);
    const objectKey = Fn.join("", [Fn.ref(codePrefix), this.nameOf(asset)]);
    const s3ObjectUrl = `s3://${bucketName}/${objectKey}`;
    return { bucketName, objectKey, s3ObjectUrl, httpUrl: s3ObjectUrl };
  }

  override addDockerImageAsset(): DockerImageAssetLocation {
    throw new Error("A plain template has no container images: only zips lie beside it.");
  }

  override synthesize(session: ISynthesisSession): void {
    this.synthesizeTemplate(session);
    this.emitArtifact(session);
  }
}
