// @ts-check
// npm run example -- NAME [PHOTO...] [--model FILE --out DIR --backend cpu|tensorrt --json]: builds what is missing,
// then runs examples/NAME. Only the example itself writes to stdout.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { argv } from 'node:process'
import { buildAll } from './build.mjs'
import { ensureCenterFace } from './centerface.mjs'
import { Failure, main, root, runHere, say } from './support.mjs'
import { ensureTensorRT } from './tensorrt.mjs'
import { ensureTritonClient } from './tritonclient.mjs'

const names = readdirSync(join(root, 'examples')).filter((name) => existsSync(join(root, 'examples', name, 'main.ts')))

await main(async () => {
  const [name = '', ...rest] = argv.slice(2)
  if (!names.includes(name))
    throw new Failure(`npm run example -- NAME [PHOTO...], where NAME is one of ${names.join(', ')}`)
  await buildAll()
  /** @type {Record<string, string>} */
  const env = {}
  if (asked(rest, '--backend', 'tensorrt') || (name === 'video-streams' && !asked(rest, '--backend', 'cpu')))
    take(env, 'TENSORRT_PATH', await ensureTensorRT())
  if (
    name === 'video-streams' ||
    name === 'video-blur' ||
    (name === 'detect-faces' && asked(rest, '--family', 'centerface'))
  )
    take(env, 'NODE_TENSORRT_CENTERFACE', await ensureCenterFace())
  if (name === 'serve-ensemble') take(env, 'TRT_TEST_TRITONCLIENT', await ensureTritonClient())
  // npm runs this in the package's folder; paths of photographs are meant from where the person stands.
  const cwd = (process.env['npm_lifecycle_event'] === 'example' && process.env['INIT_CWD']) || process.cwd()
  process.exitCode = await runHere(process.execPath, [join(root, 'dist/examples', name, 'main.js'), ...rest], {
    cwd,
    env,
  })
})

/**
 * Whether an option was given this value, in either way.
 *
 * @param {string[]} args
 */
function asked(args, /** @type {string} */ option, /** @type {string} */ value) {
  return args.includes(`${option}=${value}`) || args[args.indexOf(option) + 1] === value
}

/** @param {Record<string, string>} env */
function take(env, /** @type {string} */ variable, /** @type {{ path?: string, reason?: string }} */ { path, reason }) {
  if (path) env[variable] = path
  else say(`${reason}`)
}
