import { localstackSettings, neighbourUrl } from "../../../infra/tools/localstack/profile.ts";
import { synthesised } from "../../infra/synthesised.ts";
import { type Template, templateShape } from "../gaps.ts";

const secretArn = "arn:aws:secretsmanager:us-east-1:000000000000:secret:carillon/owner-AbCdEf";

/** The template of the profile, as `cdk synth` makes it. */
export function profileTemplate(): Template {
  return templateShape.parse(
    synthesised(localstackSettings({ url: neighbourUrl, secretArn })).template.toJSON(),
  );
}
