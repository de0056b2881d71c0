// Requests that came together go to their models together; one that is alone waits for nobody.
import t from 'tap'
import { startRig } from './rig.js'

t.test('one promise for all that are under way in a turn of the event loop', async (t) => {
  const { front } = await startRig()
  t.teardown(() => front.close())
  const endFirst = front.begin()
  t.equal(front.readTogether(), undefined)
  const endSecond = front.begin()
  const turn = front.readTogether()
  t.type(turn, Promise)
  t.equal(front.readTogether(), turn)
  await turn
  t.not(front.readTogether(), turn)
  endFirst()
  endSecond()
  t.equal(front.readTogether(), undefined)
})
