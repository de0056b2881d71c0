// Page-locked memory on the fake of TensorRT 10.
import { checkPinned } from './pinned-memory.js'
import { families } from './rig.js'

await checkPinned(families[0])
