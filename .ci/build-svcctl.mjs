/**
 * Builds svcctl as JavaScript modules, in two forms. `buildSvcctl` with `isBundled` puts its packages inside: the server's package
 * ships it that way, in dist/contrib/svcctl, and needs none of them. Run as a program (`npm run build -w svcctl`) it makes
 * contrib/svcctl/dist, the content of the package `svcctl`, which loads the packages that its package.json names.
 */
import { chmodSync, copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { licensesOf, requireForBundled } from './bundled-packages.mjs'

const root = resolve(import.meta.dirname, '..')
const source = join(root, 'contrib/svcctl')

export async function buildSvcctl(target, { isBundled }) {
  rmSync(target, { recursive: true, force: true })
  const { build } = await import('esbuild')
  const { metafile } = await build({
    entryPoints: [join(source, 'main.ts')],
    outdir: target,
    absWorkingDir: root,
    bundle: true,
    // Commands load undici and others only where they need them.
    splitting: true,
    chunkNames: '[name]-[hash]',
    format: 'esm',
    platform: 'node',
    target: 'node24',
    packages: isBundled ? 'bundle' : 'external',
    ...(isBundled ? { banner: { js: requireForBundled } } : undefined),
    metafile: true,
    logLevel: 'warning',
  })
  copyFileSync(join(source, 'checksums/crc64-nvme.wasm'), join(target, 'crc64-nvme.wasm'))
  if (isBundled) writeFileSync(join(target, 'LICENSES.txt'), licensesOf(Object.keys(metafile.inputs)))
  const main = join(target, 'main.js')
  if (!readFileSync(main, 'utf8').startsWith('#!')) throw new Error('main.ts must begin with #!/usr/bin/env node')
  chmodSync(main, 0o755)
}

if (import.meta.main) {
  await buildSvcctl(join(source, 'dist'), { isBundled: false })
  console.log('Made contrib/svcctl/dist.')
}
