/**
 * The post-quantum KEMs CTRU-Prime and Streamlined NTRU Prime. CTRU-Prime is not standardised.
 * Neither is audited here.
 */

/**
 * A parameter set of CTRU-Prime (numbers: public keys in mixed-radix encoding; "packed13": 13 bits
 * per coefficient) or of Streamlined NTRU Prime.
 */
export type SetId =
  | 653
  | 761
  | 1277
  | "653-packed13"
  | "761-packed13"
  | "1277-packed13"
  | "sntrup653"
  | "sntrup761"
  | "sntrup857"
  | "sntrup953"
  | "sntrup1013"
  | "sntrup1277";

/** The sizes of a parameter set in bytes. */
export interface SetInfo {
  /** Such as "CTRU-Prime-761" or "sntrup761". */
  readonly name: string;
  readonly encapsulationKeyBytes: number;
  /** A decapsulation key contains the encapsulation key. */
  readonly decapsulationKeyBytes: number;
  readonly ciphertextBytes: number;
  readonly sharedSecretBytes: number;
  /** The seed of one key pair: 32 bytes seed, then 32 bytes `z`; of NTRU Prime, 32 bytes seed. */
  readonly keypairSeedBytes: number;
  /** The seed of one encapsulation, 32 bytes. */
  readonly encapsulationSeedBytes: number;
}

/**
 * What the package returns: `Uint8Array<ArrayBuffer>`, an array that fills a buffer of its own.
 * (The name is a way to say so that TypeScript before 5.7 also understands.)
 */
export type Bytes = ReturnType<Uint8ArrayConstructor["of"]>;

/** What is wrong. The codes never change; messages may. */
export type ErrorCode =
  /** An argument is not of the type that this file says. */
  | "type"
  /** There is no such parameter set. */
  | "set"
  /**
   * A number of bytes or of rows is wrong, or so large that there is no memory for it, or an array
   * has no memory any more, because it was transferred.
   */
  | "length"
  /** The bytes are not an encapsulation key. */
  | "encapsulation-key"
  /** The bytes are not a decapsulation key. */
  | "decapsulation-key"
  /** There is no `crypto.getRandomValues`, or it failed. */
  | "randomness"
  /** The WebAssembly module or a worker could not be loaded. */
  | "load"
  /** The pool is closed, by `close` or because a worker has ended. */
  | "closed"
  /**
   * The package has a defect, or the module or the stack has no memory left. The package overwrites
   * the memory of the module and starts the module again, so that other calls do not notice. A
   * {@link Pool} is closed only if a worker has ended.
   */
  | "internal";

/** Every error of this package. After an error, no output exists. */
export class CtruError extends Error {
  private constructor();
  readonly name: "CtruError";
  readonly code: ErrorCode;
  /** In batches: the first row, from 0, whose key is refused. */
  readonly row?: number;
}

export interface KeyPair {
  encapsulationKey: Bytes;
  /** Secret. */
  decapsulationKey: Bytes;
}

export interface Encapsulation {
  ciphertext: Bytes;
  /** Secret. */
  sharedSecret: Bytes;
}

/** One row per key pair. */
export interface KeyPairs {
  encapsulationKeys: Bytes;
  /** Secret. */
  decapsulationKeys: Bytes;
}

/** One row per encapsulation. */
export interface Encapsulations {
  ciphertexts: Bytes;
  /** Secret. */
  sharedSecrets: Bytes;
}

/**
 * The operations. They throw {@link CtruError}. Arguments are only read; results are new arrays,
 * which belong to the caller. A batch is a `Uint8Array` of rows, one after the other, with the
 * lengths that {@link SetInfo} says. A `count` is an integer from 0 to 2^32 - 1. A batch must fit
 * into the memory of a module: each input and output has fewer than 2^31 bytes, and all together
 * have at most 4 GiB. An instance keeps the memory that its largest batch has taken.
 */
export interface Ctru {
  /** Whether this is the module with vector instructions. */
  readonly simd: boolean;
  readonly sets: Readonly<Record<SetId, SetInfo>>;

  /**
   * Generates a key pair, at random or from a secret, uniform seed that must be used once. For
   * CTRU-Prime, it has 64 bytes: a seed of 32 bytes for the keys, then `z`, from which
   * {@link Ctru.decapsulate} makes the secrets of ciphertexts that encapsulation did not make. It
   * must serve one set only: the same seed gives related key pairs for two sets of CTRU-Prime. For
   * NTRU Prime, it has 32 bytes, and the same seed gives unrelated key pairs for two sets.
   */
  keypair(set: SetId, seed?: Uint8Array): KeyPair;

  /**
   * Encapsulates, at random or from a secret, uniform seed of 32 bytes that must be used once.
   */
  encapsulate(set: SetId, encapsulationKey: Uint8Array, seed?: Uint8Array): Encapsulation;

  /**
   * Returns the shared secret. A ciphertext of the right length that encapsulation did not make is
   * no error: it gives a secret that nobody else knows.
   */
  decapsulate(set: SetId, decapsulationKey: Uint8Array, ciphertext: Uint8Array): Bytes;

  /**
   * Generates `count` key pairs, at random or from `seeds`, a row for each. A row is a seed of
   * {@link Ctru.keypair}, with 64 bytes for CTRU-Prime and 32 for NTRU Prime.
   */
  keypairs(set: SetId, count: number, seeds?: Uint8Array): KeyPairs;

  /**
   * Encapsulates `count` times, to one key or to one key for each operation, at random or from
   * `seeds`, a row of 32 bytes for each.
   */
  encapsulateBatch(
    set: SetId,
    encapsulationKeys: Uint8Array,
    count: number,
    seeds?: Uint8Array,
  ): Encapsulations;

  /** Decapsulates each row of a batch, with one key or with one key for each operation. */
  decapsulateBatch(
    set: SetId,
    decapsulationKeys: Uint8Array,
    ciphertexts: Uint8Array,
  ): Bytes;

  /**
   * Starts workers: an integer from 1 to 256, or, if it is absent, one per core, and 256 at most.
   * Each has an instance of the module, with memory of its own.
   */
  pool(options?: { workers?: number }): Promise<Pool>;
}

/**
 * Workers that share the rows of each batch. The methods are those of {@link Ctru}; their promises
 * are rejected with {@link CtruError}. Arguments are copied before a call returns its promise.
 */
export interface Pool {
  /** The number of workers. */
  readonly workers: number;
  keypairs(set: SetId, count: number, seeds?: Uint8Array): Promise<KeyPairs>;
  encapsulateBatch(
    set: SetId,
    encapsulationKeys: Uint8Array,
    count: number,
    seeds?: Uint8Array,
  ): Promise<Encapsulations>;
  decapsulateBatch(
    set: SetId,
    decapsulationKeys: Uint8Array,
    ciphertexts: Uint8Array,
  ): Promise<Bytes>;
  /** Stops the workers. Batches that are under way are rejected with the code "closed". */
  close(): void;
}

export interface LoadOptions {
  /**
   * Chooses the module: the one with vector instructions, or the one without. If absent, the one
   * that `module` is, if this is compiled, or else the one with vectors where these work.
   */
  simd?: boolean;
  /**
   * Where the module is, or its bytes, or the compiled module: where hosts do not compile at run
   * time, a program imports `ctru/simd128_bg.wasm` or `ctru/scalar_bg.wasm`. If absent, the file of
   * this package.
   */
  module?: URL | WebAssembly.Module | ArrayBuffer | ArrayBufferView;
}

/**
 * Loads and compiles the WebAssembly module. There is one instance for each value of `simd`: later
 * calls return it, and do not look at what `module` has.
 */
export function load(options?: LoadOptions): Promise<Ctru>;
