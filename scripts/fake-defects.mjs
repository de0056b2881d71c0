// @ts-check
// Defects of the fakes, one after another: plants each in a clone, builds the fakes there, and runs the programs of
// test/gpu on them, which are those of this checkout. A defect is found if the check named for it fails. Without a
// defect all of these checks have to pass.
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { buildAll } from './build.mjs'
import { Failure, root, say } from './support.mjs'

/** The libraries that the checks load. */
const targets = ['cuda', 'nvinfer10', 'nvonnxparser10']
const compiled = join(root, 'dist', 'test', 'gpu')

/** @typedef {import('./defects.mjs').Defect} Defect */

/** @param {Defect} defect @returns {string} the program of its check */
const programOf = ({ id, check }) => {
  const name = check?.split(': ', 1)[0]
  if (name === undefined) throw new Failure(`defect ${id} names no check`)
  return name
}

/**
 * @param {Defect[]} defects
 * @param {string} folder of the clone
 * @param {(defect: Defect, folder: string) => { path: string, text: string }} mended the file with the defect
 * @returns {Promise<import('./defects.mjs').Outcome[]>} `by`: the checks that failed
 */
export async function findByChecks(defects, folder, mended) {
  await buildAll()
  const references = join(folder, 'build', 'gpu-references')
  execFileSync(execPath, [join(compiled, 'references.js'), references])
  buildFakesIn(folder)
  const broken = failedChecks(folder, references, [...new Set(defects.map(programOf))])
  const unsound = defects.filter(({ check }) => broken.includes(check ?? ''))
  if (unsound.length > 0)
    throw new Failure(`without a defect these checks fail: ${unsound.map(({ check }) => check).join(', ')}`)
  return defects.map((defect) => {
    const { id, what, check = '' } = defect
    const { path, text } = mended(defect, folder)
    const before = readFileSync(path, 'utf8')
    writeFileSync(path, text)
    try {
      buildFakesIn(folder)
      const by = failedChecks(folder, references, [programOf(defect)])
      say(`defect ${id}: ${by.includes(check) ? 'found' : 'NOT FOUND'}`)
      return { id, what, found: by.includes(check), by, not: by.includes(check) ? [] : [check] }
    } finally {
      writeFileSync(path, before)
    }
  })
}

function buildFakesIn(/** @type {string} */ folder) {
  const build = join(folder, 'build', 'fake')
  execFileSync('cmake', ['-S', join(folder, 'test', 'fake'), '-B', build], { stdio: ['ignore', 'ignore', 'inherit'] })
  const result = spawnSync('cmake', ['--build', build, '--parallel', '2', '--target', ...targets], { encoding: 'utf8' })
  if (result.status !== 0) throw new Failure(`the fakes do not compile:\n${result.stdout}${result.stderr}`)
}

/** @returns {string[]} "PROGRAM: CHECK" of each check that failed */
function failedChecks(
  /** @type {string} */ folder,
  /** @type {string} */ references,
  /** @type {string[]} */ programs,
) {
  const fakes = join(folder, 'build', 'fake')
  const out = join(folder, 'build', 'gpu-checks')
  rmSync(out, { recursive: true, force: true })
  const env = {
    ...process.env,
    NODE_TENSORRT_LIBCUDA: join(fakes, 'libcuda.so.1'),
    TENSORRT_PATH: join(fakes, 'trt10'),
    FAKE_TRT_VERSION: '10.6.0',
    FAKE_CUDA_COMPUTE_CAPABILITY: '9.0',
  }
  const args = [join(compiled, 'run.js'), '--references', references, '--out', out, ...programs]
  spawnSync(execPath, args, { env, stdio: 'ignore' })
  const lines = readFileSync(join(out, 'checks.jsonl'), 'utf8').trimEnd().split('\n')
  return lines
    .map((line) => /** @type {{ program: string, check: string, ok: boolean }} */ (JSON.parse(line)))
    .filter(({ ok }) => !ok)
    .map(({ program, check }) => `${program}: ${check}`)
}
