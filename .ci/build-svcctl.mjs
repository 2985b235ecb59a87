/**
 * Builds svcctl as JavaScript modules, in two forms. `buildSvcctl` with `isBundled` puts its packages inside: the server's package
 * ships it that way, in dist/contrib/svcctl, and needs none of them. Run as a program (`npm run build -w svcctl`) it makes
 * contrib/svcctl/dist, the content of the package `svcctl`, which loads the packages that its package.json names.
 */
import { chmodSync, copyFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { build } from 'esbuild'

const root = resolve(import.meta.dirname, '..')
const source = join(root, 'contrib/svcctl')

/** Packages that are CommonJS ask for modules of Node.js by `require`. */
const requireForBundled =
  "import { createRequire as createBundledRequire } from 'node:module';\nconst require = createBundledRequire(import.meta.url);"

export async function buildSvcctl(target, { isBundled }) {
  rmSync(target, { recursive: true, force: true })
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

/** Of all packages that the given files belong to. Throws where a package has no license file. */
function licensesOf(inputs) {
  const folders = new Set(inputs.filter(path => path.includes('node_modules/')).map(packageFolder))
  const texts = [...folders].sort().map(folder => {
    const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const file = readdirSync(folder).find(entry => /^licen[cs]e/i.test(entry))
    if (file === undefined) throw new Error(`${name} has no license file`)
    return `${name} ${version}\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`
  })
  return texts.join(`\n${'-'.repeat(80)}\n\n`)
}

function packageFolder(path) {
  let folder = dirname(join(root, path))
  while (!existsSync(join(folder, 'package.json')) || !/node_modules\/(@[^/]+\/)?[^/]+$/.test(folder)) {
    folder = dirname(folder)
  }
  return folder
}

if (import.meta.main) {
  await buildSvcctl(join(source, 'dist'), { isBundled: false })
  console.log('Made contrib/svcctl/dist.')
}
