// The first bytes of plans. trtexec (printPlanVersion of samples/common/sampleEngines.cpp) reads the tag, layout 0 and
// the version there; the header of a version-compatible plan is not documented.
import { Builder, type BuilderOptions, capabilities } from '../../lib/index.js'
import { readReference } from './cases.js'
import { runProgram } from './check.js'

const plans: Readonly<Record<string, BuilderOptions>> = {
  'has a known header': {},
  'has a known header with a lean runtime': { versionCompatible: true },
  'has a known header without a lean runtime': { versionCompatible: true, excludeLeanRuntime: true },
}

await runProgram('headers', async ({ check, references }) => {
  const { model, shapes } = readReference(references, 'relu')
  const { tensorrt } = await capabilities()
  const version = tensorrt.find(({ canBuild }) => canBuild)?.version
  for (const [name, options] of Object.entries(plans))
    await check(
      name,
      { tag: 'ftrt', layout: 0, size: 'that of the plan', version },
      async () => {
        await using builder = new Builder(options)
        const { bytes } = await builder.build(model, { shapes })
        const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
        const size = Number(view.getBigUint64(16, true))
        return {
          tag: String.fromCharCode(...bytes.subarray(0, 4)),
          layout: view.getUint32(4, true),
          size: size === bytes.length ? 'that of the plan' : size,
          version: bytes.subarray(24, 27).join('.'),
          first64: Buffer.from(bytes.subarray(0, 64)).toString('hex'),
        }
      },
      ({ tag, layout, size, version: told }) =>
        tag === 'ftrt' && layout === 0 && size === 'that of the plan' && told === version,
    )
})
