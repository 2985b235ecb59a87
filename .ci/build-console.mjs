/** Builds the web console (plugins/console/web/dist) where it is not what its sources make: `node .ci/build-console.mjs`. */
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { withLock } from './lock.mjs'

const root = resolve(import.meta.dirname, '..')
const source = join(root, 'plugins/console/web')
const target = join(source, 'dist')
const stamp = join(target, 'sources.json')

function fingerprint() {
  const hash = createHash('sha256')
  const own = globSync(['*.{html,json,ts}', 'src/**/*'], { cwd: source, withFileTypes: true })
  const files = own.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
  for (const path of [
    ...files.sort(),
    join(root, 'contrib/svcctl/admin/operations.json'),
    join(root, 'package-lock.json'),
  ]) {
    hash.update(`${path.slice(root.length)}\n`).update(readFileSync(path))
  }
  return hash.digest('hex')
}

/** Resolves with whether it was built now. Without the packages of the console (a production install) what is there stays. */
export async function makeConsoleCurrent() {
  return !isCurrent(fingerprint()) && (await withLock('console', make))
}

function isCurrent(fingerprint) {
  return existsSync(stamp) && JSON.parse(readFileSync(stamp, 'utf8')).fingerprint === fingerprint
}

async function make() {
  const made = fingerprint()
  if (isCurrent(made)) return false
  let vite
  try {
    vite = createRequire(join(source, 'package.json')).resolve('vite')
  } catch {
    return false
  }
  const { build } = await import(vite)
  await build({ root: source, logLevel: 'warn' })
  compress()
  writeFileSync(stamp, `${JSON.stringify({ fingerprint: made })}\n`)
  return true
}

/** Once, as small as possible, instead of at every request. */
function compress() {
  for (const path of globSync('assets/*.{js,css,svg}', { cwd: target })) {
    const bytes = readFileSync(join(target, path))
    writeFileSync(join(target, `${path}.gz`), gzipSync(bytes, { level: 9 }))
    const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
    writeFileSync(join(target, `${path}.br`), brotliCompressSync(bytes, { params }))
  }
}

if (import.meta.main) {
  const isNew = await makeConsoleCurrent()
  console.log(isNew ? 'Made plugins/console/web/dist.' : 'plugins/console/web/dist is what its sources make.')
}
