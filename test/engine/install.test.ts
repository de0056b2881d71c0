// An onnxruntime-node that ends in the middle of a call. install.slow.test.ts has what else one may do, or that there
// is none.
import t from 'tap'
import { checkStandIn, standIns } from './stand-ins.js'

for (const standIn of standIns.slice(0, 1))
  t.test(`an onnxruntime-node that ${standIn[0]}`, (t) => checkStandIn(t, standIn))
