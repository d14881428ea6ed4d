import { expect, test } from "vitest";
import { synthesised } from "./synthesised.ts";

const stack = synthesised();
const keys = stack.ofType("AWS::KMS::Key").filter(([id]) => id.startsWith("WebhookSender"));

test("The key of webhook credentials is rotated each year, and stays when the stack is deleted", () => {
  expect(keys).toHaveLength(1);
  const [, key] = keys[0] ?? [];
  expect(key?.Properties).toMatchObject({ EnableKeyRotation: true });
  expect(stack.template.toJSON()["Resources"][keys[0]?.[0] ?? ""]).toMatchObject({
    DeletionPolicy: "RetainExceptOnCreate",
    UpdateReplacePolicy: "Retain",
  });
});

test("Only the function that sends webhooks may use a key of KMS, and only for credentials of webhooks", () => {
  const using = stack.ofType("AWS::IAM::Policy").flatMap(([id, { Properties }]) => {
    const { Statement } = Object(Properties["PolicyDocument"]);
    const ofKms = Statement.filter((each: object) =>
      JSON.stringify(Reflect.get(each, "Action")).includes("kms:"),
    );
    return ofKms.map((each: object) => ({ id: id.replace(/[0-9A-F]{8}$/, ""), ...each }));
  });
  expect(using).toEqual([
    {
      id: expect.stringMatching(/^WebhookSender/),
      Effect: "Allow",
      Action: ["kms:Decrypt", "kms:GenerateDataKeyPairWithoutPlaintext"],
      Resource: { "Fn::GetAtt": [keys[0]?.[0], "Arn"] },
      Condition: { StringEquals: { "kms:EncryptionContext:carillon": "webhook credentials" } },
    },
  ]);
});
