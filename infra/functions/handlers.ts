import type { Connections, IConnectable } from "aws-cdk-lib/aws-ec2";
import type { IGrantable, IPrincipal, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { checkName, checkRoom } from "./variables.ts";

interface HandlersProps {
  /** The function that runs handlers: it alone gets their rights. */
  readonly runs: LambdaFunction;
  /** The other functions that import the handlers' module, to check payloads. */
  readonly imports: readonly LambdaFunction[];
  /** Throws where functions are outside of any VPC. */
  readonly connections: () => Connections;
}

/**
 * The handlers of an app, as something to grant rights to: `table.grantReadWriteData(carillon.handlers)`.
 * The rights are those of the slow worker, which runs every handler.
 */
export class Handlers implements IGrantable, IConnectable {
  /** The role of the slow worker. */
  readonly grantPrincipal: IPrincipal;
  private readonly props: HandlersProps;

  constructor(props: HandlersProps) {
    this.props = props;
    this.grantPrincipal = props.runs.grantPrincipal;
  }

  /**
   * The connections of all functions, because they share one security group. Throws where functions
   * are outside of any VPC.
   */
  get connections(): Connections {
    return this.props.connections();
  }

  /** Gives the handlers a right that no resource of the app grants by itself. */
  addToRolePolicy(statement: PolicyStatement): void {
    this.props.runs.addToRolePolicy(statement);
  }

  /**
   * Sets a variable of every function that imports the handlers' module: the module may read it at
   * import, where a missing one would stop the function. It is not for secrets, since everyone who
   * may see a function sees its variables. Throws for a name that Carillon uses, and where Lambda
   * has no room for the value.
   */
  addEnvironment(name: string, value: string): this {
    checkName(name);
    const { runs, imports } = this.props;
    const importing = [runs, ...imports];
    for (const fn of importing) checkRoom(fn, name, value);
    for (const fn of importing) fn.addEnvironment(name, value);
    return this;
  }
}
