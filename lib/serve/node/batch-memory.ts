// Memory that was made for the requests of one batch: it may be handed over with their answers, since nobody else has
// it.
import { dtypeOf } from '../../kserve/tensor.js'
import { Tensor } from '../../tensor.js'
import type { RunOrder } from './messages.js'
import type { ModuleRequest } from './module-runner.js'

export class BatchMemory {
  readonly #own: Set<ArrayBufferLike>

  constructor({ requests }: Pick<RunOrder, 'requests'>) {
    this.#own = new Set(requests.flatMap(({ inputs }) => inputs.map(({ bytes }) => bytes.buffer)))
  }

  readonly isOwn = (buffer: ArrayBufferLike): boolean => this.#own.has(buffer)

  readonly place: NonNullable<ModuleRequest['place']> = ({ datatype }, shape) => {
    if (datatype === 'BYTES') return undefined
    const tensor = Tensor.zeros(dtypeOf[datatype], shape)
    this.#own.add(tensor.data.buffer)
    return tensor
  }
}
