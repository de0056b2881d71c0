/** What `run` makes of each input, in the order of the inputs; as many as `most` are under way at once. Ends with the first error. */
export async function* inOrder<I, R>(
  inputs: AsyncIterable<I> | Iterable<I>,
  most: number,
  run: (input: I) => Promise<R>,
): AsyncGenerator<R, void, undefined> {
  const running: Promise<R>[] = []
  const next = async (): Promise<R> => running.shift() as Promise<R>
  try {
    for await (const input of inputs) {
      const result = run(input)
      result.catch(() => {}) // it is awaited in its turn
      running.push(result)
      if (running.length >= most) yield await next()
    }
    while (running.length > 0) yield await next()
  } finally {
    await Promise.allSettled(running)
  }
}

export function isIterable(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Symbol.asyncIterator in value || Symbol.iterator in value
}
