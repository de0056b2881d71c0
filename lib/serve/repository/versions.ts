import type { ModelConfig } from '../../kserve/messages/model_config_pb.js'

/**
 * The versions that a model's version_policy chooses, the lowest first; the latest one where it has none, and all of
 * them where it says nothing, as in Triton.
 *
 * @param available names of folders, the lowest first
 */
export function chosenVersions(config: ModelConfig, available: readonly string[]): readonly string[] {
  if (config.versionPolicy === undefined) return available.slice(-1)
  const policy = config.versionPolicy.policyChoice
  if (policy.case === 'specific') {
    const wanted = new Set(policy.value.versions.map(String))
    return available.filter((version) => wanted.has(version))
  }
  if (policy.case !== 'latest') return available
  return policy.value.numVersions === 0 ? [] : available.slice(-policy.value.numVersions)
}
