import { TensorRTError } from '../../errors.js'

/** Bytes that are no message of the protocol: cut short, too long, or with what no message of its type may have. */
export class MessageFault extends TensorRTError {
  constructor(message: string) {
    super('ERR_TRT_SERVER', message, { details: { kind: 'INVALID_ARG' } })
  }
}
