import { bytes, count as checkCount, numberOf, optionalBytes } from "./arguments.js";
import { CtruError, errorOf } from "./error.js";
import { startWorker } from "./host.js";

/** Starts a pool of workers, which instantiate the compiled module. */
export async function startPool(simd, compiled, sets, workers) {
  const pool = new Pool(sets);
  try {
    await Promise.all(Array.from({ length: workers }, () => pool.start(simd, compiled)));
  } catch (error) {
    pool.close();
    throw error;
  }
  return pool;
}

class Pool {
  #sets;
  #workers = [];
  /** The functions that settle the promise of an operation, by its number. */
  #pending = new Map();
  #next = 0;
  /** Why the pool is closed. */
  #closed;

  constructor(sets) {
    this.#sets = sets;
  }

  get workers() {
    return this.#workers.length;
  }

  /** Starts a worker, and waits until it is ready. */
  async start(simd, compiled) {
    const { promise, resolve, reject } = withResolvers();
    const receive = (message) => {
      if (message.ready) return resolve();
      if (message.failed) return reject(new CtruError("load", message.failed));
      const waiting = this.#pending.get(message.id);
      this.#pending.delete(message.id);
      if (message.results) {
        // Nobody waits for the results of a pool that is closed.
        if (waiting) waiting.resolve(message.results);
        else wipe(message.results);
      } else {
        waiting?.reject(message.thrown);
      }
    };
    const fail = (reason) => {
      reject(new CtruError("load", `a worker does not start: ${reason}`));
      this.#stop(new CtruError("internal", `a worker has failed: ${reason}`));
    };
    try {
      const worker = await startWorker(receive, fail);
      this.#workers.push(worker);
      // Another worker may have failed in the meantime.
      if (this.#closed) worker.terminate();
      this.#refuseIfClosed();
      worker.postMessage({ simd, compiled });
    } catch (error) {
      const message = `a worker cannot be started: ${error.message}`;
      reject(error instanceof CtruError ? error : new CtruError("load", message));
    }
    await promise;
  }

  close() {
    this.#stop(new CtruError("closed", "the pool is closed"));
  }

  #stop(error) {
    if (this.#closed) return;
    this.#closed = error;
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
    for (const worker of this.#workers) worker.terminate();
  }

  #refuseIfClosed() {
    if (this.#closed) throw new CtruError("closed", this.#closed.message);
  }

  async keypairs(set, count, seeds) {
    const number = numberOf(this.#sets, set);
    const sizes = this.#sets[set];
    checkCount(count);
    const given = optionalBytes("seeds", seeds);
    checkRows("seeds", given, count, sizes.keypairSeedBytes);
    const [encapsulationKeys, decapsulationKeys] = await this.#share(
      count,
      [sizes.encapsulationKeyBytes, sizes.decapsulationKeyBytes],
      (first, rows) => [
        "generate",
        number,
        rows,
        part(given, first, rows, sizes.keypairSeedBytes),
      ],
    );
    return { encapsulationKeys, decapsulationKeys };
  }

  async encapsulateBatch(set, encapsulationKeys, count, seeds) {
    const number = numberOf(this.#sets, set);
    const sizes = this.#sets[set];
    const keys = bytes("encapsulationKeys", encapsulationKeys);
    checkCount(count);
    const given = optionalBytes("seeds", seeds);
    const key = sizes.encapsulationKeyBytes;
    checkKeys("encapsulationKeys", keys, count, key);
    checkRows("seeds", given, count, sizes.encapsulationSeedBytes);
    const [ciphertexts, sharedSecrets] = await this.#share(
      count,
      [sizes.ciphertextBytes, sizes.sharedSecretBytes],
      (first, rows) => [
        "encapsulate",
        number,
        partOfKeys(keys, first, rows, key),
        rows,
        part(given, first, rows, sizes.encapsulationSeedBytes),
      ],
    );
    return { ciphertexts, sharedSecrets };
  }

  async decapsulateBatch(set, decapsulationKeys, ciphertexts) {
    const number = numberOf(this.#sets, set);
    const sizes = this.#sets[set];
    const keys = bytes("decapsulationKeys", decapsulationKeys);
    const given = bytes("ciphertexts", ciphertexts);
    const count = Math.floor(given.length / sizes.ciphertextBytes);
    const key = sizes.decapsulationKeyBytes;
    checkRows("ciphertexts", given, count, sizes.ciphertextBytes);
    checkKeys("decapsulationKeys", keys, count, key);
    const [sharedSecrets] = await this.#share(
      count,
      [sizes.sharedSecretBytes],
      (first, rows) => {
        // Secrets are copied last, because nobody wipes the copy if the next one has no memory.
        const received = part(given, first, rows, sizes.ciphertextBytes);
        return ["decapsulate", number, partOfKeys(keys, first, rows, key), received, rows];
      },
    );
    return sharedSecrets;
  }

  /**
   * Gives each worker a share of the rows, and returns the outputs, whose rows have these sizes.
   * `call` returns the operation and the operands for a share. The operands are transferred.
   */
  async #share(count, rowBytes, call) {
    this.#refuseIfClosed();
    const share = Math.max(1, Math.ceil(count / this.#workers.length));
    const shares = this.#workers
      .map((worker, index) => ({ worker, first: index * share }))
      // The first worker checks the key also if there are no rows.
      .filter(({ first }) => first === 0 || first < count);
    const outputs = rowBytes.map((size) => allocated(() => new Uint8Array(size * count)));
    const outcomes = await Promise.allSettled(
      // Asynchronous functions, so that a share that cannot be sent does not hide those that were.
      shares.map(async ({ worker, first }) => {
        // A worker that was stopped would never answer, and nobody would wipe the copies for it.
        this.#refuseIfClosed();
        const rows = Math.min(share, count - first);
        const [operation, ...operands] = allocated(() => call(first, rows));
        return this.#send(worker, operation, operands);
      }),
    );
    try {
      // The shares are in order, so this one has the first row that is refused.
      const failed = outcomes.findIndex(({ status }) => status === "rejected");
      if (failed >= 0) throw errorOf(outcomes[failed].reason, shares[failed].first);
      for (const [index, { value: results }] of outcomes.entries()) {
        results.forEach((result, output) => {
          outputs[output].set(result, shares[index].first * rowBytes[output]);
        });
      }
      return outputs;
    } finally {
      // Results can be secret, and the outputs are copies.
      for (const { value: results } of outcomes) wipe(results ?? []);
    }
  }

  /** Sends an operation to a worker of a pool that is open, and wipes operands that do not go. */
  #send(worker, operation, operands) {
    const { promise, resolve, reject } = withResolvers();
    const id = this.#next++;
    const arrays = operands.filter(ArrayBuffer.isView);
    try {
      worker.postMessage({ id, operation, operands }, arrays.map((array) => array.buffer));
    } catch (error) {
      wipe(arrays);
      const reason = new CtruError("internal", `a worker takes no message: ${error.message}`);
      this.#stop(reason);
      throw reason;
    }
    this.#pending.set(id, { resolve, reject });
    return promise;
  }
}

/** Overwrites arrays, which can be secret. */
function wipe(arrays) {
  for (const array of arrays) array.fill(0);
}

/** Calls a function that only allocates arrays. */
function allocated(make) {
  try {
    return make();
  } catch (error) {
    throw new CtruError("length", `there is no memory for the batch: ${error.message}`);
  }
}

/** Returns a promise with the functions that settle it. */
function withResolvers() {
  let resolve, reject;
  const promise = new Promise((...functions) => ([resolve, reject] = functions));
  return { promise, resolve, reject };
}

/** Returns a copy of the rows of a share. */
function part(rows, first, count, rowBytes) {
  return rows && copied(rows.subarray(first * rowBytes, (first + count) * rowBytes));
}

/** Returns a copy in memory of its own, which can be transferred. */
function copied(rows) {
  return new Uint8Array(rows);
}

/** Returns a copy of the keys of a share: the only key, or one for each row. */
function partOfKeys(keys, first, count, keyBytes) {
  return keys.length === keyBytes ? copied(keys) : part(keys, first, count, keyBytes);
}

/** Checks that there is one row for each operation, if there are rows. */
function checkRows(name, rows, count, rowBytes) {
  if (rows === undefined || rows.length === count * rowBytes) return;
  throw new CtruError(
    "length",
    `${name} have ${rows.length} bytes, ${count} operations need ${count * rowBytes}`,
  );
}

/** Checks that there is one key, or one for each operation. */
function checkKeys(name, keys, count, keyBytes) {
  if (keys.length !== keyBytes) checkRows(name, keys, count, keyBytes);
}
