import { TensorRTError } from '../errors.js'

/** Bytes of a buffer that a call uses until it ends: any number of calls read them, or one writes them. */
interface Lease {
  readonly begin: number
  readonly end: number
  readonly writes: boolean
}

/** Of this thread's calls. Kept by the memory, which several arrays may be views of. */
const leases = new WeakMap<ArrayBufferLike, Set<Lease>>()

/**
 * Uses the bytes until what is returned is called. It has to be called, however the work ends, and no earlier than the
 * thread that does it.
 * @throws TensorRTError ERR_TRT_BUFFER_IN_USE where another call writes one of them, or reads it and this one writes
 */
export function leased(
  { buffer, byteOffset, byteLength }: ArrayBufferView,
  access: 'read' | 'write',
  name: string,
): () => void {
  const lease: Lease = { begin: byteOffset, end: byteOffset + byteLength, writes: access === 'write' }
  const those = leases.get(buffer)
  for (const other of those ?? []) if (isConflict(lease, other)) throw inUse(name, other)
  if (those !== undefined) those.add(lease)
  else leases.set(buffer, new Set([lease]))
  return () => {
    const left = leases.get(buffer)
    left?.delete(lease)
    if (left?.size === 0) leases.delete(buffer)
  }
}

function isConflict(one: Lease, other: Lease): boolean {
  return (one.writes || other.writes) && one.begin < other.end && other.begin < one.end
}

function inUse(name: string, { writes }: Lease): TensorRTError {
  const message = `The bytes of ${name} are ${writes ? 'painted' : 'read'} by another call: await that first`
  return new TensorRTError('ERR_TRT_BUFFER_IN_USE', message)
}
