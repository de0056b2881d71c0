// What of a failure a client of gRPC is told.
import { OverBudget } from '../front/budget.js'
import type { Fault, FaultKind } from '../faults.js'

/** Those that are used, by gRPC's numbers. */
export const grpcCodes = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  RESOURCE_EXHAUSTED: 8,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
} as const

/** As Triton maps its codes; of what it has no code for, gRPC's own meaning. */
const codeOf: Readonly<Record<FaultKind, number>> = {
  INVALID_ARG: grpcCodes.INVALID_ARGUMENT,
  NOT_FOUND: grpcCodes.NOT_FOUND,
  UNAVAILABLE: grpcCodes.UNAVAILABLE,
  UNSUPPORTED: grpcCodes.UNIMPLEMENTED,
  INTERNAL: grpcCodes.INTERNAL,
  CANCELLED: grpcCodes.CANCELLED,
  TIMEOUT: grpcCodes.DEADLINE_EXCEEDED,
  TOO_LARGE: grpcCodes.RESOURCE_EXHAUSTED,
}

export interface GrpcStatus {
  readonly code: number
  readonly details: string
}

export function statusOf(fault: Fault): GrpcStatus {
  return {
    code: fault instanceof OverBudget ? grpcCodes.RESOURCE_EXHAUSTED : codeOf[fault.kind],
    details: sendable(fault.message),
  }
}

/** Clients take 8 KiB of headers, and each byte that is no ASCII takes three of them. */
const mostBytes = 2500

/** A text that a trailer can have: whole characters, and not too many. */
function sendable(text: string): string {
  const bytes = Buffer.from(text) // half of a surrogate pair, which no header can have, becomes a replacement character
  if (bytes.length <= mostBytes) return bytes.toString()
  return `${bytes.toString('utf8', 0, mostBytes).replace(/\ufffd+$/, '')}…`
}
