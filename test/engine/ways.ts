import t, { type Test } from 'tap'

/**
 * The ways to run ONNX on the CPU: through the addon, and with onnxruntime-node in a worker, where it does not load.
 */
export type Way = 'addon' | 'portable'

/**
 * A test of each way, one after the other; the variable is read whenever an engine is opened, and inherited by
 * children.
 */
export function onEachWay(name: string, body: (t: Test, way: Way) => Promise<void>): void {
  for (const way of ['addon', 'portable'] as const) {
    t.test(`${name} (${way})`, async (t) => {
      force(way)
      await body(t, way).finally(() => force('addon'))
    })
  }
}

/** Has engines opened in a way, as far as this machine has it. */
export function force(way: Way): void {
  if (way === 'portable') process.env['NODE_TENSORRT_PORTABLE'] = '1'
  else delete process.env['NODE_TENSORRT_PORTABLE']
}
