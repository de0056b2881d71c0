/**
 * onnxruntime-node aborts the process when its thread is told to stop while a call into it runs: the call comes back,
 * finds that JavaScript may not run any more, and throws a C++ exception through Node-API. `process.exit()` and an
 * uncaught error tell all threads to stop. So the worker says when it is in a native call, and the thread that owns it
 * waits in its `exit` event, before anything is stopped, until it is not. Node would wait for the end of the call
 * anyway.
 *
 * The guard is one shared number. Both sides change it with compareExchange, so that no call begins once the owner has
 * let go.
 */
const idle = 0
const busy = 1
const stopped = 2

/** If the worker died in a native call, nobody sets the guard to idle again; then the owner gives up. */
const longestWaitMs = 30_000

export function newGuard(): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
}

/** In the worker, before a native call. Never resolves when the owner is on its way out. */
export async function enterNative(guard: Int32Array): Promise<void> {
  if (Atomics.compareExchange(guard, 0, idle, busy) === stopped) await new Promise(() => {})
}

/** In the worker, after a native call. */
export function leaveNative(guard: Int32Array): void {
  Atomics.compareExchange(guard, 0, busy, idle)
  Atomics.notify(guard, 0)
}

const guards = new Set<Int32Array>()

function stopAll(): void {
  const deadline = Date.now() + longestWaitMs
  for (const guard of guards) {
    while (Atomics.compareExchange(guard, 0, idle, stopped) === busy && Date.now() < deadline) {
      Atomics.wait(guard, 0, busy, deadline - Date.now())
    }
  }
}

/** In the owner: from now on its exit waits for this worker. */
export function watch(guard: Int32Array): void {
  if (guards.size === 0) process.on('exit', stopAll)
  guards.add(guard)
}

/** In the owner, once the worker has ended. */
export function unwatch(guard: Int32Array): void {
  guards.delete(guard)
  if (guards.size === 0) process.off('exit', stopAll)
}
