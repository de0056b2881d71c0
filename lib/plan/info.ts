import { type NativeBuildResult, type NativeProfile, packageVersion } from '../backend/native.js'
import { type NetworkAudit, networkAudit } from '../building/audit.js'
import type { BuildSettings } from '../building/builder-options.js'
import { settingsOf } from '../building/settings.js'
import { libraryOf, type PlanHeader } from './header.js'

/** How a plan came about: what the build told, what it was asked for, and where that was. Plain data, as it stands in the sidecar. */
export interface BuildInfo extends Readonly<Omit<NativeBuildResult, 'plan' | 'settings' | 'audit'>> {
  /** What the builder was set to, as the library itself reported it. */
  readonly settings: BuildSettings
  /** What the network was made of before TensorRT built it; what the engine is made of, {@link Engine.audit} tells on a device. */
  readonly audit: NetworkAudit
  /** The optimization profiles, by number: the shapes of each dynamic input. */
  readonly profiles: readonly NativeProfile[]
  /** Where it was built, by Node's names: `linux`, `x64`. */
  readonly system: { readonly os: string; readonly arch: string }
  /** When it was built, in UTC, and by which version of this package. */
  readonly builtAt: string
  readonly builtBy: string
}

/** What is known of a plan: all of it, or, where it comes without a sidecar, only what its header says. */
export type PlanInfo = Readonly<Pick<BuildInfo, 'library' | 'kind'> & Partial<BuildInfo>>

/** What a build told, with what it was asked for and where it was. */
export function buildInfo({ plan: _, settings, audit, ...told }: NativeBuildResult, profiles: readonly NativeProfile[]): BuildInfo {
  return Object.freeze({
    ...told,
    settings: settingsOf(settings),
    audit: networkAudit(audit),
    profiles,
    system: { os: process.platform, arch: process.arch },
    builtAt: new Date().toISOString(),
    builtBy: `node-tensorrt ${packageVersion()}`,
  })
}

/** What can be known without a sidecar. */
export function headerInfo(header: PlanHeader): PlanInfo {
  const { kind, version } = header
  return Object.freeze({ library: libraryOf(header), kind, ...(version !== undefined && { version }) })
}
