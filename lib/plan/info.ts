import type { NamedShapes } from '../backend/backend.js'
import type { BuiltFacts, ParsedFacts } from '../backend/facts.js'
import type { PrecisionReport } from '../onnx/precision/report.js'
import { libraryOf, type PlanHeader } from './header.js'
import type { NetworkInfo } from './network.js'
import type { BuildSettings } from './settings.js'

/**
 * How a plan came about: what the build told, what it was asked for, and where that was. Plain data, as it stands in
 * the sidecar.
 */
export interface BuildInfo extends ParsedFacts, BuiltFacts {
  /**
   * What the network was made of before TensorRT built it; what the engine is made of, {@link Engine.layers} tells on a
   * device.
   */
  readonly network: NetworkInfo
  /** What the builder was set to, as the library itself reported it. */
  readonly settings: BuildSettings
  /** The optimization profiles, by number: the shapes of each dynamic input. */
  readonly profiles: readonly (readonly NamedShapes[])[]
  /**
   * Where the types of `precision` had to be in the model (TensorRT 11, TensorRT-RTX, strongly typed networks), and
   * were put there: what was converted, and what was not and why.
   */
  readonly conversion?: PrecisionReport | undefined
  /** The system of the build. */
  readonly system: {
    /** The operating system, by Node's name: `linux`. */
    readonly os: string
    /** The processor, by Node's name: `x64`. */
    readonly arch: string
  }
  /** When it was built, in UTC (ISO 8601). */
  readonly builtAt: string
  /** The version of this package that built it. */
  readonly builtBy: string
}

/** What is known of a plan: all of it, or, where it comes without a sidecar, only what its header says. */
export type PlanInfo = Readonly<Pick<BuildInfo, 'library' | 'kind'> & Partial<BuildInfo>>

/** What can be known without a sidecar. */
export function headerInfo(header: PlanHeader): PlanInfo {
  const { kind, version } = header
  return Object.freeze({ library: libraryOf(header), kind, ...(version !== undefined && { version }) })
}
