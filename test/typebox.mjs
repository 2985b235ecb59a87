/**
 * TypeBox is 700 modules, which each of hundreds of test processes would find, read and link. It is bundled once, into the cache beside the
 * packages; a new version, or another list of entries, gets a folder of its own.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const root = resolve(import.meta.dirname, '..')
const entries = ['typebox', 'typebox/compile', 'typebox/format', 'typebox/schema', 'typebox/value']
const nameOf = entry => entry.replace('/', '-')

/** The URL of each entry of the package that the project uses. */
export function typeBoxUrls() {
  const { version } = JSON.parse(readFileSync(join(root, 'node_modules/typebox/package.json'), 'utf8'))
  const cache = join(root, 'node_modules/.cache')
  const folder = join(cache, `typebox-${version}-${entries.length}`)
  if (!existsSync(folder)) bundle(cache, folder)
  return new Map(entries.map(entry => [entry, pathToFileURL(join(folder, `${nameOf(entry)}.mjs`)).href]))
}

function bundle(cache, folder) {
  const { buildSync } = createRequire(import.meta.url)('esbuild')
  mkdirSync(cache, { recursive: true })
  const made = mkdtempSync(join(cache, 'typebox-'))
  buildSync({
    absWorkingDir: root,
    entryPoints: Object.fromEntries(entries.map(entry => [nameOf(entry), entry])),
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    outdir: made,
    outExtension: { '.js': '.mjs' },
  })
  try {
    renameSync(made, folder)
  } catch {
    // Another process was faster.
    rmSync(made, { recursive: true, force: true })
  }
}
