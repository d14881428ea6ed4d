import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { emulatorAt } from "../../infra/tools/localstack/emulator.ts";
import {
  localstackSettings,
  neighbourMaxConnections,
  neighbourUrl,
} from "../../infra/tools/localstack/profile.ts";
import { synthesised } from "./synthesised.ts";
import { variants } from "./variants.ts";

const secretArn = "arn:aws:secretsmanager:us-east-1:000000000000:secret:carillon/owner-AbCdEf";

/** The part of the compose specification that is used here; any other key in the file fails. */
const service = z.strictObject({
  image: z.string(),
  ports: z.array(z.string()),
  environment: z.record(z.string(), z.string()),
  volumes: z.array(z.string()).default([]),
  networks: z.array(z.string()),
  healthcheck: z.strictObject({
    test: z.tuple([z.literal("CMD")], z.string()),
    interval: z.string().regex(/^\d+s$/),
    timeout: z.string().regex(/^\d+s$/),
    retries: z.int().positive(),
  }),
});
const compose = z.strictObject({
  name: z.string(),
  services: z.strictObject({ localstack: service, postgres: service }),
  networks: z.record(z.string(), z.strictObject({ name: z.string() })),
});

describe("the profile for LocalStack", () => {
  const { resources } = synthesised(localstackSettings({ url: neighbourUrl, secretArn }));
  const types = Object.values(resources).map(({ Type }) => Type);

  test("the LocalStack profile leaves out what the free tier lacks: RDS, HTTP APIs and a VPC", () => {
    const lacking = /^AWS::(RDS|ApiGatewayV2|EC2|WAFv2|XRay)::/;
    expect(types.filter((type) => lacking.test(type))).toEqual([]);
  });

  test("the LocalStack profile has everything else: an API, functions, queues, the tick and the migration", () => {
    for (const type of [
      "AWS::ApiGateway::RestApi",
      "AWS::Lambda::EventSourceMapping",
      "AWS::Events::Rule",
      "AWS::SQS::Queue",
      "Custom::CarillonMigration",
    ])
      expect(types).toContain(type);
  });

  test("the LocalStack profile is one of the sets of settings that all checks run with", () => {
    expect(variants["LocalStack"]).toEqual(localstackSettings({ url: neighbourUrl, secretArn }));
  });

  test("the LocalStack profile refuses an endpoint of AWS itself", () => {
    expect(() => emulatorAt("https://sqs.eu-central-1.amazonaws.com")).toThrow("AWS itself");
  });
});

describe("docker-compose.yaml", () => {
  const text = readFileSync(
    new URL("../../infra/tools/localstack/docker-compose.yaml", import.meta.url),
    "utf8",
  );
  const { services, networks } = compose.parse(parse(text));
  const url = new URL(neighbourUrl);

  test("docker-compose.yaml names exact versions, and opens no port to another machine", () => {
    for (const { image, ports } of Object.values(services)) {
      expect(image).toMatch(/:\d+(\.\d+)+$/);
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:(\d+):\1$/);
    }
  });

  test("docker-compose.yaml has the Postgres of the profile: its name in the network, port, user, password and database", () => {
    const { environment, networks: joined, ports } = services.postgres;
    expect(Object.keys(services)).toContain(url.hostname);
    expect(joined).toEqual(services.localstack.networks);
    expect(ports).toEqual([`127.0.0.1:${url.port}:${url.port}`]);
    expect(environment).toEqual({
      POSTGRES_USER: url.username,
      POSTGRES_PASSWORD: url.password,
      POSTGRES_DB: url.pathname.slice(1),
    });
    // Postgres's default for max_connections, which the file does not change.
    expect(neighbourMaxConnections).toBe(100);
  });

  test("docker-compose.yaml lets functions reach Postgres: their containers are in its network", () => {
    expect(services.postgres.networks).toEqual(Object.keys(networks));
    expect(services.localstack.environment["LAMBDA_DOCKER_NETWORK"]).toBe(networks["carillon"]?.name);
  });

  test("docker-compose.yaml holds no token, and explains how to go without one", () => {
    expect(services.localstack.environment["LOCALSTACK_AUTH_TOKEN"]).toMatch(
      /^\$\{LOCALSTACK_AUTH_TOKEN:\?.+\}$/,
    );
  });
});
