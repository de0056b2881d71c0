// A program with a model in JavaScript that nobody closes: what it has to do at its end is to remove the folder.
import { ask, load } from './rig.js'

const code = 'export default { execute: (requests) => requests.map(({ inputs: { x } }) => ({ y: x })) }'
const { model } = await load({ teardown: (end) => process.once('exit', end) }, { code })
console.log((await ask(model, [1, 2, 3, 4])).length)
