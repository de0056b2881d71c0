/** All who ask about the same pictures, and whether they got the same answers. */
import { readFile } from 'node:fs/promises'
import { GrpcClient, HttpClient, type InferenceClient } from 'node-tensorrt/client'
import { TensorRTError } from 'node-tensorrt'
import type { ServerAddresses } from 'node-tensorrt/serve'
import { tableOf } from '../support/program.js'
import { classify } from './classify.js'
import { curlJson, curlPicture, type Label, tritonclient, type Witness } from './outside.js'

/** Asks one after the other. @throws TensorRTError (as a rejection) where two say different things */
export async function askEverybody(
  { http, grpc }: ServerAddresses,
  photos: readonly string[],
  folder: string,
): Promise<readonly Witness[]> {
  const [httpUrl, grpcUrl] = [http?.url ?? '', grpc?.url ?? '']
  const all: readonly Witness[] = [
    ...(await withCurl(httpUrl, photos, folder)),
    await withOurs('node-tensorrt/client, HTTP', new HttpClient(httpUrl), photos),
    await withOurs('node-tensorrt/client, gRPC', new GrpcClient(grpcUrl), photos),
    ...(await tritonclient(httpUrl, grpcUrl, photos)),
  ]
  checkAlike(all)
  return all
}

async function withCurl(url: string, photos: readonly string[], folder: string): Promise<readonly Witness[]> {
  const ways = { 'curl, the picture alone': curlPicture, 'curl, JSON and the picture': curlJson }
  const witnesses: Witness[] = []
  for (const [who, ask] of Object.entries(ways)) {
    try {
      const answers: Label[] = []
      for (const photo of photos) answers.push(await ask(url, photo, folder))
      witnesses.push({ who, answers })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      witnesses.push({ who, missing: 'there is no curl here' })
    }
  }
  return witnesses
}

async function withOurs(who: string, ours: InferenceClient, photos: readonly string[]): Promise<Witness> {
  await using client = ours
  const answers: Label[] = []
  for (const photo of photos) answers.push(await classify(client, await readFile(photo)))
  return { who, answers }
}

function checkAlike(all: readonly Witness[]): void {
  const [first, ...others] = all.filter(({ answers }) => answers !== undefined)
  const words = (witness: Witness | undefined): string => JSON.stringify(witness?.answers)
  const other = others.find((witness) => words(witness) !== words(first))
  if (other === undefined) return
  throw new TensorRTError(
    'ERR_TRT_SERVER',
    `${first?.who} and ${other.who} got different answers: ${words(first)} and ${words(other)}`,
  )
}

export function saidText(all: readonly Witness[]): string {
  const pictures = all.find(({ answers }) => answers !== undefined)?.answers ?? []
  const rows = all.map(({ who, answers, missing = '' }) =>
    answers === undefined
      ? [who, { content: `left out: ${missing}`, colSpan: pictures.length }]
      : [who, ...answers.map(({ label, score }) => `${label} ${score.toFixed(4)}`)],
  )
  return tableOf(['who asked', ...pictures.map((_, i) => `picture ${i + 1}`)], rows)
}
