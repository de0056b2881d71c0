/** Whether it can be iterated, with or without waiting. Text can be, too, and is never meant. */
export function isIterable(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Symbol.asyncIterator in value || Symbol.iterator in value
}

/** What begins anew each time it is iterated, and says so. */
export class Repeatable<T> implements AsyncIterable<T> {
  readonly #begin: () => AsyncIterator<T>

  constructor(begin: () => AsyncIterator<T>) {
    this.#begin = begin
  }

  [Symbol.asyncIterator](): AsyncIterator<T> {
    return this.#begin()
  }
}

/**
 * Whether it can be iterated more than once. A generator, which is its own iterator, cannot. Of what is asynchronous
 * nobody can tell (a stream's iterator is another object, and the stream ends all the same): it counts as something
 * that cannot, unless it is ours.
 */
export function isRepeatable(data: Iterable<unknown> | AsyncIterable<unknown>): boolean {
  if (Symbol.asyncIterator in data) return data instanceof Repeatable
  return (data[Symbol.iterator]() as unknown) !== data
}
