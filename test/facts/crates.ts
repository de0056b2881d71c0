// Crates that carry declarations of other people's interfaces: cargo brings them, and nothing of them is kept.
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** `version` as the crate's folder has it, with what follows a `+`. */
export interface Crate {
  name: string
  version: string
}

/** The crate's folder where cargo has it. */
export function crateInRegistry({ name, version }: Crate): string | undefined {
  const sources = join(process.env['CARGO_HOME'] ?? join(homedir(), '.cargo'), 'registry', 'src')
  if (!existsSync(sources)) return undefined
  return readdirSync(sources)
    .map((registry) => join(sources, registry, `${name}-${version}`))
    .find((folder) => existsSync(folder))
}

async function fetchCrate({ name, version }: Crate): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), `${name}-`))
  const dependency = `${name} = { version = "=${version.replace(/\+.*/, '')}", default-features = false }`
  try {
    writeFileSync(
      join(folder, 'Cargo.toml'),
      `[package]\nname = "headers"\nversion = "0.0.0"\nedition = "2021"\n[lib]\npath = "lib.rs"\n[dependencies]\n${dependency}\n`,
    )
    writeFileSync(join(folder, 'lib.rs'), '')
    await run('cargo', ['fetch', '--manifest-path', join(folder, 'Cargo.toml')], { timeout: 120_000 })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The folder of the crate that cargo has or can fetch; otherwise the reason to skip what needs it. */
export async function cargoCrate(crate: Crate): Promise<{ folder: string } | string> {
  const label = `${crate.name}-${crate.version}`
  let folder = crateInRegistry(crate)
  if (!folder) {
    try {
      await fetchCrate(crate)
    } catch (error) {
      return `no real headers: cargo could not fetch ${label} (${(error as Error).message.split('\n')[0] ?? ''})`
    }
    folder = crateInRegistry(crate)
    if (!folder) return `no real headers: ${label} is not in cargo's registry after fetching it`
  }
  return { folder }
}
