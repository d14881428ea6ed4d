import { asContext, cdk, emulatedAccount, emulatorAt, ownerSecret } from "./emulator.ts";
import { localstackSettings, neighbourUrl } from "./profile.ts";

/**
 * Deploys the profile to the emulator at AWS_ENDPOINT_URL; further arguments are passed on to `cdk
 * deploy`.
 */
const emulator = emulatorAt(process.env["AWS_ENDPOINT_URL"] ?? "http://127.0.0.1:4566");
const url = process.env["DATABASE_URL"] ?? neighbourUrl;
const settings = localstackSettings({ url, secretArn: await ownerSecret(url, emulator) });

await cdk(["bootstrap", `aws://${emulatedAccount}/${emulator.AWS_REGION}`], emulator);
await cdk(
  [
    "deploy",
    "--require-approval=never",
    "--output=cdk.out/localstack",
    ...asContext(settings),
    ...process.argv.slice(2),
  ],
  emulator,
);
