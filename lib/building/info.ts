import type { NativeProfile } from '../backend/native-types.js'
import { packageVersion } from '../base/package.js'
import type { BuildInfo } from '../plan/info.js'
import { networkInfo } from './network.js'
import type { BuildResult } from './in-process.js'
import { settingsOf } from './settings.js'

/** What a build told, with what it was asked for and where it was. */
export function buildInfo(
  { settings, audit, ...told }: Omit<BuildResult, 'plan' | 'calibrationCache'>,
  profiles: readonly NativeProfile[],
): BuildInfo {
  return Object.freeze({
    ...told,
    settings: settingsOf(settings),
    network: networkInfo(audit),
    profiles,
    system: { os: process.platform, arch: process.arch },
    builtAt: new Date().toISOString(),
    builtBy: `node-tensorrt ${packageVersion()}`,
  })
}
