/** Every error of this package. */
export class CtruError extends Error {
  constructor(code, message, row) {
    super(message);
    this.name = "CtruError";
    this.code = code;
    if (row !== undefined) this.row = row;
  }
}

/**
 * Returns the error for what a function of the module has thrown: an array of code, text and row,
 * or a trap, which has the code "internal". `first` is the row of the batch at which the rows of
 * the module begin; for an operation that is no batch it is absent.
 */
export function errorOf(thrown, first) {
  if (thrown instanceof CtruError) return thrown;
  if (!Array.isArray(thrown)) return new CtruError("internal", `the module failed: ${thrown}`);
  const [code, text, row] = thrown;
  if (row === undefined) return new CtruError(code, text);
  if (first === undefined) return new CtruError(code, `the bytes are ${text}`);
  return new CtruError(code, `row ${first + row} is ${text}`, first + row);
}
