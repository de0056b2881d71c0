// RT-DETR as its authors export it: a second input says in which pixels the boxes are to be, and labels, boxes and
// scores come out.
import t from 'tap'
import { Tensor } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { Detector } from '../../lib/tasks/index.js'
import { plain } from '../vision/helpers.js'

/**
 * Two boxes in parts of what the second input says, of each picture: a person at 0.9, and a bicycle that is too unsure.
 */
function exported(): Uint8Array {
  const g = new GraphBuilder({ name: 'rt-detr' })
  const images = g.input('images', 'float32', ['N', 3, 64, 64])
  const sizes = g.node('Cast', [g.input('orig_target_sizes', 'int64', ['N', 2])], { to: 1 })
  const shape = (...dims: number[]) =>
    g.constant(`shape${dims.join()}`, new Tensor('int64', BigInt64Array.from(dims, BigInt), [dims.length]))
  const each = (name: string, values: readonly number[], dims: number[]) =>
    g.constant(name, new Tensor('float32', Float32Array.from(values), [1, ...dims]))
  const nothing = g.node('Mul', [
    g.node('ReduceMean', [images], { axes: [1, 2, 3], keepdims: 0 }),
    each('zero', [0], []),
  ])
  const perPicture = g.node('Reshape', [nothing, shape(-1, 1)])
  const labels = g.node('Add', [perPicture, each('label', [0, 1], [2])])
  const scores = g.node('Add', [perPicture, each('score', [0.9, 0.2], [2])], {}, { output: 'scores' })
  const corners = g.node('Reshape', [g.node('Concat', [sizes, sizes], { axis: 1 }), shape(-1, 1, 4)])
  const boxes = g.node(
    'Mul',
    [corners, each('parts', [0.25, 0.25, 0.5, 0.75, 0, 0, 1, 1], [2, 4])],
    {},
    { output: 'boxes' },
  )
  g.output(g.node('Cast', [labels], { to: 7 }, { output: 'labels' }), 'int64', ['N', 2])
  g.output(boxes, 'float32', ['N', 2, 4])
  g.output(scores, 'float32', ['N', 2])
  return writeModel(g.toModel())
}

t.test('boxes come in pixels of the picture, for one and for a batch', async (t) => {
  await using detector = await Detector.load(exported(), { preset: 'rtdetr', backend: 'cpu', labels: 'coco80' })
  const [wide, tall] = [plain(128, 64, [9, 9, 9]), plain(64, 192, [9, 9, 9])]
  const answer = (box: readonly number[]) => [{ box, score: Math.fround(0.9), classIndex: 0, label: 'person' }]
  t.same(await detector.detect(wide), answer([32, 16, 32, 32]))
  t.same(await detector.detect([tall, wide]), [answer([16, 48, 16, 96]), answer([32, 16, 32, 32])])
})
