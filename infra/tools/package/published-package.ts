/** A package to be published: one file in `published/`, and one line in package-list.ts. */
export interface PublishedPackage {
  readonly name: string;
  readonly description: string;
  readonly keywords: readonly string[];
  /** Writes its files into the empty folder. */
  build(folder: string, page: BuiltPage): Promise<BuiltPackage>;
}

/** The page, which is built once for all packages. */
export interface BuiltPage {
  readonly folder: string;
  /** The bundled files, as paths below the repository's root. */
  readonly bundled: readonly string[];
}

export interface BuiltPackage {
  /** The parts of its manifest that are not the same for every package. */
  readonly manifest: OwnManifest;
  /** The declarations that its manifest names, as sources. */
  readonly declared: readonly string[];
  /** Every file that was bundled, as paths below the repository's root. */
  readonly bundled: readonly string[];
}

export interface OwnManifest {
  readonly exports: Readonly<Record<string, string | { types: string; default: string }>>;
  readonly imports?: Readonly<Record<string, string>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { optional: true }>>;
}
