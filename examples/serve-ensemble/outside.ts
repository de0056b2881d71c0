/** Who is not of this package and asks the server: curl, and NVIDIA's tritonclient of Python. */
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { packageRoot } from '../../lib/base/package.js'

/** What the ensemble says of a picture. */
export interface Label {
  readonly label: string
  readonly score: number
}

/** One who was asked about all pictures, or why it was not. */
export interface Witness {
  readonly who: string
  readonly answers?: readonly Label[]
  readonly missing?: string
}

const run = promisify(execFile)
const header = 'Inference-Header-Content-Length'

/** The picture as it is, as the body: an only input needs no words about it, and the answer is binary as well. */
export async function curlPicture(url: string, photo: string, folder: string): Promise<Label> {
  const [body, head] = [join(folder, 'curl-answer.bin'), join(folder, 'curl-answer.txt')]
  await curl(
    '--data-binary',
    `@${photo}`,
    '--header',
    `${header}: 0`,
    '--output',
    body,
    '--dump-header',
    head,
    inferUrl(url),
  )
  const words = new RegExp(`^${header}: (\\d+)`, 'im').exec(await readFile(head, 'utf8'))?.[1]
  return readBinary(await readFile(body), Number(words))
}

/** JSON, then the picture: of several inputs each may be binary, and the answer is JSON. */
export async function curlJson(url: string, photo: string, folder: string): Promise<Label> {
  const bytes = await readFile(photo)
  const input = {
    name: 'jpeg',
    datatype: 'UINT8',
    shape: [1, bytes.length],
    parameters: { binary_data_size: bytes.length },
  }
  const head = Buffer.from(JSON.stringify({ inputs: [input] }))
  const body = join(folder, 'curl-request.bin')
  await writeFile(body, Buffer.concat([head, bytes]))
  const printed = await curl('--data-binary', `@${body}`, '--header', `${header}: ${head.length}`, inferUrl(url))
  const { outputs } = JSON.parse(printed) as {
    readonly outputs: readonly { readonly name: string; readonly data: readonly unknown[] }[]
  }
  const value = (name: string): unknown => outputs.find((output) => output.name === name)?.data[0]
  return { label: String(value('label')), score: Math.fround(Number(value('score'))) }
}

const inferUrl = (url: string): string => `${url}/v2/models/classify/infer`

async function curl(...args: readonly string[]): Promise<string> {
  const { stdout } = await run('curl', ['--silent', '--show-error', '--fail-with-body', ...args])
  return stdout
}

interface BinaryOutput {
  readonly name: string
  readonly parameters: { readonly binary_data_size: number }
}

/** JSON of so many bytes, then the outputs in its order; of BYTES each element begins with its length. */
function readBinary(answer: Buffer, jsonLength: number): Label {
  const { outputs } = JSON.parse(answer.toString('utf8', 0, jsonLength)) as {
    readonly outputs: readonly BinaryOutput[]
  }
  let at = jsonLength
  const parts = new Map(
    outputs.map(({ name, parameters }) => [name, answer.subarray(at, (at += parameters.binary_data_size))]),
  )
  return { label: parts.get('label')?.toString('utf8', 4) ?? '', score: parts.get('score')?.readFloatLE() ?? NaN }
}

interface Way {
  readonly answers?: readonly (readonly [label: string, score: number])[]
  readonly missing?: string
}

/** Where `python3` has it, or where the folder that TRT_TEST_TRITONCLIENT names has it. */
export async function tritonclient(http: string, grpc: string, photos: readonly string[]): Promise<readonly Witness[]> {
  const script = join(packageRoot(), 'examples/serve-ensemble/ask_with_tritonclient.py')
  const folder = process.env['TRT_TEST_TRITONCLIENT']
  const env = { ...process.env, ...(folder !== undefined && { PYTHONPATH: folder }) }
  const places = [http, grpc].map((url) => url.replace(/^\w+:\/\//, ''))
  try {
    const { stdout } = await run('python3', [script, ...places, ...photos], { env })
    const { version, ...ways } = JSON.parse(stdout) as { version: string } & Record<string, Way>
    return Object.entries(ways).map(([name, { answers, missing = '' }]) => ({
      who: `tritonclient ${version}, ${name}`,
      ...(answers === undefined ? { missing } : { answers: answers.map(([label, score]) => ({ label, score })) }),
    }))
  } catch (error) {
    const { stderr = '', message } = error as Error & { readonly stderr?: string }
    if (/No module named 'numpy|No package metadata|ENOENT/.test(stderr + message))
      return [{ who: 'tritonclient', missing: 'python3 has no tritonclient: pip install "tritonclient[http,grpc]"' }]
    throw error
  }
}
