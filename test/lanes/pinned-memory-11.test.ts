// Page-locked memory on the fake of TensorRT 11.
import { checkPinned } from './pinned-memory.js'
import { families } from './rig.js'

await checkPinned(families[1])
