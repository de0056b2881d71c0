// Sessions at the wrong time.
import { identity } from '../../support/models.js'
import type { Given, Row } from './table.js'

const gone = /Session already disposed/

/** A session that was released. */
async function released({ create }: Given): Promise<any> {
  const session = await create(identity())
  await session.release()
  return session
}

const feeds = ({ ort }: Given): object => ({ x: new ort.Tensor('float32', Float32Array.of(1), [1]) })

export const rows: readonly Row[] = [
  ['a run after release()', async (given) => (await released(given)).run(feeds(given)), 'Error', gone],
  ['a second release()', async (given) => (await released(given)).release(), 'Error', gone],
  [
    'two releases at once',
    async ({ create }) => {
      const session = await create(identity())
      await Promise.all([session.release(), session.release()])
    },
    'Error',
    gone,
  ],
  ['a run without feeds after release()', async (given) => (await released(given)).run(), 'TypeError', /'feeds'/],
  [
    'a run beside a release()',
    async (given) => {
      const session = await given.create(identity())
      await Promise.all([session.release(), session.run(feeds(given))])
    },
    'Error',
    gone,
  ],
  ['startProfiling()', ({ session }) => session.startProfiling(), 'Error', /^startProfiling\(\)/, 'runs'],
  ['endProfiling()', ({ session }) => session.endProfiling(), 'Error', /^endProfiling\(\)/, 'untried'],
  ['run() without its session', ({ session: { run } }) => run({}), 'TypeError', /Cannot read propert/],
  ['new InferenceSession()', ({ ort }) => new ort.InferenceSession().run({}), 'TypeError', /Cannot read propert/],
  ['a backend that is none', ({ ort }) => ort.registerBackend('mine', {}, 1), 'TypeError', /not a valid backend/],
]
