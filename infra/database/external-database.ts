import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { Secret } from "aws-cdk-lib/aws-secretsmanager";
import type { Construct } from "constructs";
import { admitReader } from "../keys/admit-reader.ts";
import type { OwnKeys } from "../keys/own-keys.ts";
import type { Settings } from "../settings.ts";
import { acknowledge } from "../watch/acknowledge.ts";
import type { DatabaseServer, DatabaseUser } from "./database-server.ts";
import { externalDescription } from "./database-settings.ts";
import { givenSecret } from "./given-secret.ts";

/** Lambda's limit is 4 KB for all variables: room for one certificate, not for a bundle. */
const CERTIFICATE_CHARACTERS_MAX = 2_200;

/**
 * A Postgres that AWS does not run and that knows no IAM. Each function's user has a password in a
 * secret of its own, made here; only this function and the migration can read it.
 */
export function externalDatabase(scope: Construct, settings: Settings, { secrets }: OwnKeys): DatabaseServer {
  const known = externalDescription.parse(settings);
  const secret = (role: DatabaseUser) =>
    roleSecret(scope, role, { passwords: settings.databasePasswords, key: secrets });
  const roleSecrets: Record<DatabaseUser, Secret> = {
    carillon_tick: secret("carillon_tick"),
    carillon_worker: secret("carillon_worker"),
    carillon_handler: secret("carillon_handler"),
    carillon_ingest: secret("carillon_ingest"),
    carillon_api: secret("carillon_api"),
    carillon_archive: secret("carillon_archive"),
  };
  return {
    host: known.databaseHost,
    port: String(settings.databasePort),
    name: settings.databaseName,
    masterSecret: givenSecret(scope, known.databaseSecretArn, secrets),
    way: { to: settings.databaseNetworks, port: settings.databasePort },
    roleSecrets,
    admit: (fn, user) => {
      fn.addEnvironment("DATABASE_USER", user);
      fn.addEnvironment("DATABASE_AUTH", "secret");
      fn.addEnvironment("DATABASE_SECRET_ARN", roleSecrets[user].secretArn);
      admitReader(roleSecrets[user], fn);
    },
    trust: trusted(settings),
  };
}

/**
 * A higher number changes the secret's template, so that Secrets Manager generates another
 * password.
 */
function roleSecret(
  scope: Construct,
  role: DatabaseUser,
  { passwords, key }: { passwords: number; key: IKey | undefined },
): Secret {
  const secret = new Secret(scope, `Login-${role}`, {
    description: `Carillon: the password of ${role} on its database`,
    generateSecretString: {
      secretStringTemplate: JSON.stringify({ username: role, passwords }),
      generateStringKey: "password",
      passwordLength: 40,
      excludePunctuation: true,
    },
    ...(key && { encryptionKey: key }),
  });
  acknowledge(
    secret,
    "SMG4",
    "The password is changed by raising databasePasswords: the migration then sets it on the server, which a rotation by Secrets Manager would not do.",
  );
  return secret;
}

function trusted({ databaseTls, databaseCaFile }: Settings): Readonly<Record<string, string>> {
  if (databaseTls === "off") return { DATABASE_TLS: "off" };
  return databaseCaFile === undefined ? {} : { DATABASE_CA: certificate(databaseCaFile) };
}

function certificate(file: string): string {
  const pem = readCertificate(file);
  if (pem.length <= CERTIFICATE_CHARACTERS_MAX) return pem;
  throw new Error(
    `databaseCaFile: the certificate in ${file} has ${pem.length} characters; a function's environment has room for ${CERTIFICATE_CHARACTERS_MAX}`,
  );
}

function readCertificate(file: string): string {
  try {
    return new X509Certificate(readFileSync(file)).toString().trim();
  } catch (cause) {
    throw new Error(`databaseCaFile: ${file} cannot be read as a file with one certificate in PEM`, {
      cause,
    });
  }
}
