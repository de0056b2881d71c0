// The server of docker/Dockerfile.serve, with the package installed: as a child of this process and as process 1 of a
// container. Signals, exit codes, the health check, and no process afterwards.
import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { DockerfileParser } from 'dockerfile-ast'
import t, { type Test } from 'tap'
import { packageRoot } from '../../lib/base/package.js'
import { anyPorts, type ServeChild, serveChild } from '../cli/serve-rig.js'
import { installPackage } from '../engine/installed.js'
import { halfRequest } from '../serve/operations/half.js'
import { addOneNode } from '../serve/operations/repository.js'
import { childEnvironment } from '../support/children.js'
import { temporaryFolder } from '../support/folders.js'

const root = packageRoot()
const folder = temporaryFolder(t)
const models = join(folder, 'models')
const run = promisify(execFile)

/** The words of an instruction in the image's last stage. */
function wordsOf(keyword: string): string[] {
  const all = DockerfileParser.parse(readFileSync(join(root, 'docker/Dockerfile.serve'), 'utf8')).getInstructions()
  const text = all.findLast((each) => each.getKeyword() === keyword)?.getArgumentsContent() ?? ''
  return JSON.parse(text.replace(/^CMD /, '')) as string[]
}

const command = wordsOf('CMD').map((word) => (word === '/models' ? models : word))
const env = { PATH: `${join(folder, 'node_modules/.bin')}:${process.env['PATH'] ?? ''}` }

t.before(() => {
  const installed = installPackage(folder, { addon: true })
  const link = (name: string, to: string): void => {
    const place = join(folder, 'node_modules', name)
    mkdirSync(dirname(place), { recursive: true })
    symlinkSync(to, place)
  }
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { dependencies: object }
  const ofImage = JSON.parse(readFileSync(join(root, 'docker/serve/package.json'), 'utf8')) as { dependencies: object }
  const there = ['@bufbuild/protobuf', 'node-gyp-build']
  for (const name of Object.keys({ ...dependencies, ...ofImage.dependencies }).filter((each) => !there.includes(each)))
    link(name, join(root, 'node_modules', name))
  const program = join(installed, 'dist/lib/cli/trt.js')
  chmodSync(program, 0o755) // as npm does
  link('.bin/node-tensorrt', program)
  link('.bin/node', process.execPath)
  addOneNode(models, 'identity')
})

/** The one child of a process. */
const childOf = (pid: number): number => Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')[0])

const isRefused = await run('unshare', ['-rm', '--pid', '--fork', 'true']).then(
  () => false,
  () => true,
)
const ways = {
  'as a child': { within: [], pidOf: (pid: number) => pid, skip: false },
  'as process 1': {
    within: ['unshare', '-rm', '--pid', '--fork', '--mount-proc'],
    pidOf: childOf,
    skip: isRefused && 'unshare cannot mount here',
  },
} as const

/** Exit code of the image's health check, on the port that the server has here. */
async function health(url: string): Promise<number> {
  const [program = '', ...args] = wordsOf('HEALTHCHECK')
  const words = args.map((word) => word.replace('127.0.0.1:8000', new URL(url).host))
  return run(program, words, { env: childEnvironment(env) }).then(
    () => 0,
    (error: unknown) => (error as { readonly code: number }).code,
  )
}

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

for (const [how, { within, pidOf, skip }] of Object.entries(ways)) {
  const start = async (t: Test, ...flags: string[]): Promise<ServeChild & { readonly server: () => number }> => {
    let server = 0
    const child = await serveChild(flags, {
      command: [...within, ...command],
      env,
      pidOf: (pid) => (server = pidOf(pid)),
    })
    t.teardown(() => child.kill('SIGKILL'))
    return { ...child, server: () => server }
  }

  t.test(`${how}: it answers, and SIGTERM ends it once the requests in flight are answered`, { skip }, async (t) => {
    const { served, told, kill, ended, server } = await start(t)
    const { url } = served.http
    t.equal((await fetch(`${url}/v2/health/live`)).status, 200)
    while ((await fetch(`${url}/v2/health/ready`)).status !== 200);
    t.equal(await health(url), 0, 'the health check of the image')
    const half = halfRequest(url)
    await half.begun
    kill('SIGTERM')
    await told('takes no requests any more')
    t.match(await half.finish(), { status: 200, body: /"outputs"/ })
    t.match(await ended, { code: 0, signal: null })
    t.notOk(isRunning(server()), 'no process is left')
    t.equal(await health(url), 1)
  })

  t.test(`${how}: a second SIGTERM ends it at once, and a wrong flag before it begins`, { skip }, async (t) => {
    const { served, told, kill, ended, server } = await start(t)
    const half = halfRequest(served.http.url)
    await half.begun
    kill('SIGTERM')
    await told('takes no requests any more')
    kill('SIGTERM')
    t.match(await ended, { code: 143, signal: null })
    t.notOk(isRunning(server()), 'no process is left')
    half.drop()
    const wrong = ['-u', 'NODE_OPTIONS', ...within, ...command, '--http-prot=1', ...anyPorts]
    await t.rejects(run('env', wrong, { env: childEnvironment(env) }), { code: 2, stderr: /did you mean --http-port/ })
  })
}
