/**
 * A new version of a step while clients ask the ensemble: nothing fails, and from some request on the answers are the
 * new one's.
 */
import { HttpClient } from 'node-tensorrt/client'
import { TensorRTError } from 'node-tensorrt'
import type { ServerAddresses } from 'node-tensorrt/serve'
import { askAll } from '../serve-support/asking.js'
import { classify } from './classify.js'
import type { Label } from './outside.js'
import type { Repository } from './repository.js'

export interface Replaced {
  readonly clients: number
  readonly requests: number
  /** Requests that were not answered, by their reasons. */
  readonly failures: readonly string[]
  /** Answers of the version before, of the new one, and of neither. */
  readonly ofOld: number
  readonly ofNew: number
  readonly ofNeither: number
  /** What the load took, under load, in milliseconds. */
  readonly loadMs: number
}

interface Asked extends Label {
  readonly picture: number
}

/** How many clients ask meanwhile. */
const clients = 4

/** @param least so many requests at least before the load, and after it */
export async function replaceUnderLoad(
  { http }: ServerAddresses,
  repository: Repository,
  pictures: readonly Uint8Array[],
  least: number,
): Promise<Replaced> {
  await using client = new HttpClient(http?.url ?? '')
  const allOf = () => Promise.all(pictures.map((picture) => classify(client, picture)))
  const old = await allOf()
  let sent = 0
  let loadedAt = Infinity
  const ask = async (): Promise<Asked> => {
    const picture = sent++ % pictures.length
    return { picture, ...(await classify(client, pictures[picture]!)) }
  }
  const load = async (): Promise<number> => {
    await reached(() => sent >= least)
    await repository.putVersion(2)
    const begun = performance.now()
    await client.load('resnet50')
    loadedAt = sent
    return performance.now() - begun
  }
  const loading = load()
  // a load that fails ends the requests, too
  loading.catch(() => (loadedAt = 0))
  const { answers, failures } = await askAll(clients, () => sent < loadedAt + least, ask)
  const loadMs = await loading
  const fresh = await allOf()
  const ofOld = answers.filter(isOneOf(old)).length
  const ofNew = answers.filter((answer) => !isOneOf(old)(answer) && isOneOf(fresh)(answer)).length
  return {
    clients,
    requests: sent,
    failures: failures.map(({ message }) => message),
    ofOld,
    ofNew,
    ofNeither: answers.length - ofOld - ofNew,
    loadMs,
  }
}

/** Whether an answer is what was said of its picture: a batch may differ from a single picture in the last digits. */
const isOneOf =
  (said: readonly Label[]) =>
  ({ picture, label, score }: Asked): boolean => {
    const expected = said[picture]
    return expected?.label === label && Math.abs(expected.score - score) <= 1e-3 * expected.score
  }

/** @throws TensorRTError where a request failed, or was answered by neither version */
export function checkReplaced({ failures, ofNeither }: Replaced): void {
  if (failures.length > 0)
    throw new TensorRTError(
      'ERR_TRT_SERVER',
      `${failures.length} requests failed while the model was replaced: ${failures[0] ?? ''}`,
    )
  if (ofNeither > 0) throw new TensorRTError('ERR_TRT_SERVER', `${ofNeither} answers were of neither version`)
}

export function replacedText({ clients, requests, failures, ofOld, ofNew, ofNeither, loadMs }: Replaced): string {
  const answers = `${ofOld} answers of version 1, ${ofNew} of version 2, ${ofNeither} of neither`
  return `Version 2 of resnet50 was loaded in ${(loadMs / 1000).toFixed(1)} s while ${clients} clients asked: ${requests} requests, ${failures.length} failed; ${answers}.`
}

async function reached(isReached: () => boolean): Promise<void> {
  while (!isReached()) await new Promise((resolve) => setTimeout(resolve, 10))
}
