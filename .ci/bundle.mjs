/**
 * Makes the JavaScript of dist/: the server with its packages, in few files, because finding and linking a thousand modules is most
 * of a start. What authors of plugins import (`svc/kernel`, `svc/plugins/…/api`) comes from the same files, so that there is one
 * kernel. `bundleIsCurrent` says whether dist/ is what the sources make.
 */
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { makeConsoleCurrent } from './build-console.mjs'
import { buildSvcctl } from './build-svcctl.mjs'
import { httpAsObject, licensesOf, requireForBundled, whatNobodyCalls } from './bundled-packages.mjs'
import { withLock } from './lock.mjs'

const root = resolve(import.meta.dirname, '..')
const target = join(root, 'dist')
/** An application of its own, for browsers: see build-console.mjs. */
const consoleFolder = 'plugins/console/web'
const stamp = 'sources.json'
const sourceFolders = ['kernel', 'plugins', 'contrib', '.ci']

/** What a module of the sources offers to others by name: see `exports` of package.json. */
const faces = [
  'kernel/index.ts',
  'kernel/testing/index.ts',
  'plugins/standard.ts',
  'plugins/*/{api,index,contract,testing}.ts',
]
const programs = ['kernel/main.ts', 'contrib/*/index.ts']
/** How a source names a module that a thread or a process of its own runs. */
const ownThread = /new URL\(\s*`\.\/([\w/-]+)\$\{import\.meta\.url\.endsWith/g

/** Clients of contributed plugins are installed where somebody wants them; these have native parts. */
const nativePackages = ['lmdb', '@node-rs/crc32', 'msgpackr-extract']

/**
 * Each start needs them, though a source loads them only where it comes to that: `createRequire(import.meta.url)('name')`. In the bundle
 * they run no sooner, but their hundred and more files need not be found and linked one by one.
 */
const neededByEachStart = /createRequire\(import\.meta\.url\)(?=\(\s*'(typebox\/schema|@fastify\/static)')/g

/** Names, sizes and times of all sources, as one digest. */
function fingerprint() {
  const hash = createHash('sha256')
  const add = path => {
    const { size, mtimeMs } = statSync(join(root, path))
    hash.update(`${path} ${size} ${mtimeMs}\n`)
  }
  // Each start does this: folders without sources are not looked into, which is two thirds of the work.
  const addFolder = folder => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = `${folder}/${entry.name}`
      if (entry.isFile()) add(path)
      else if (entry.isDirectory() && !/^(node_modules|dist|test)$/.test(entry.name)) addFolder(path)
    }
  }
  for (const folder of sourceFolders) addFolder(folder)
  for (const path of ['package.json', 'package-lock.json']) add(path)
  return hash.digest('hex')
}

export function bundleIsCurrent() {
  try {
    return JSON.parse(readFileSync(join(target, stamp), 'utf8')).fingerprint === fingerprint()
  } catch {
    return false
  }
}

/** Makes dist/ where it is not what the sources make. Processes that find this out at the same time wait for one of them. */
async function makeBundleCurrent() {
  if (bundleIsCurrent()) return
  await withLock('bundle', async () => {
    if (!bundleIsCurrent()) await makeBundle()
  })
}

/** Replaces dist/. Programs that run from it go on, but for modules that they have not loaded yet. `finish` adds to the new folder. */
export async function makeBundle(finish) {
  const { build } = await import('esbuild')
  await makeConsoleCurrent()
  const before = fingerprint()
  const made = mkdtempSync(join(root, 'dist-'))
  try {
    const { metafile } = await build({
      entryPoints: entryPoints(),
      outdir: made,
      outbase: root,
      absWorkingDir: root,
      bundle: true,
      splitting: true,
      chunkNames: 'chunks/[name]-[hash]',
      format: 'esm',
      platform: 'node',
      target: 'node24',
      conditions: ['svc-src'],
      external: externalPackages(),
      banner: { js: requireForBundled },
      // Names stay, for the sake of traces; white space is a tenth of the memory that sources take for ever.
      minifyWhitespace: true,
      lineLimit: 160,
      plugins: [sourcesAsTheyAre, httpAsObject, whatNobodyCalls],
      alias: { 'hash-wasm': 'hash-wasm/dist/index.esm.js' },
      metafile: true,
      logLevel: 'warning',
    })
    await copyAssets(made)
    writeFileSync(join(made, 'LICENSES.txt'), licensesOf(Object.keys(metafile.inputs)))
    // The package of the server installs it, too.
    await buildSvcctl(join(made, 'contrib/svcctl'), { isBundled: true })
    await finish?.(made)
    writeFileSync(join(made, stamp), `${JSON.stringify({ fingerprint: before })}\n`)
    chmodSync(made, 0o755)
    const old = `${made}-old`
    if (existsSync(target)) renameSync(target, old)
    renameSync(made, target)
    rmSync(old, { recursive: true, force: true })
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
}

function entryPoints() {
  const sources = globSync([...faces, ...programs], { cwd: root }).filter(path => !path.startsWith('contrib/svcctl/'))
  const threads = globSync(['kernel/**/*.ts', 'plugins/**/*.ts', 'contrib/*/*.ts'], {
    cwd: root,
    exclude: [consoleFolder],
  })
    .filter(path => !/\/(test|node_modules)\/|\.test\.ts$/.test(path))
    .flatMap(path =>
      [...readFileSync(join(root, path), 'utf8').matchAll(ownThread)].map(([, name]) =>
        join(dirname(path), `${name}.ts`),
      ),
    )
  return [...sources, ...threads]
}

function externalPackages() {
  const { optionalDependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return [...nativePackages, ...Object.keys({ ...optionalDependencies, ...devDependencies })]
}

/**
 * Nothing that a source does by itself changes. It looks for what lies beside it by `import.meta.url`; that names the place that the build would give it if it became a file
 * of its own, where its assets are.
 */
const sourcesAsTheyAre = {
  name: 'sources-as-they-are',
  setup({ onLoad, onResolve }) {
    // What is loaded when it is first needed stays a package: of CommonJS, a bundle would have the default export only.
    onResolve({ filter: /^[^./]/ }, ({ kind, path }) => {
      return kind === 'dynamic-import' && !path.startsWith('svc/') ? { path, external: true } : undefined
    })
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const contents = readFileSync(path, 'utf8')
      const place = relative(root, path).replace(/\.ts$/, '.js')
      if (place === 'kernel/main.js' || place.startsWith('node_modules/')) return undefined
      const own = `new URL('./dist/${place}', import.meta.resolve('svc/package.json')).href`
      const moved = contents
        .replaceAll(neededByEachStart, 'require')
        .replaceAll(/import\.meta\.url\b/g, 'placeOfSource')
      return { contents: moved === contents ? contents : `const placeOfSource = ${own};${moved}`, loader: 'ts' }
    })
  },
}

async function copyAssets(made) {
  const copy = (from, to) => {
    mkdirSync(dirname(join(made, to)), { recursive: true })
    copyFileSync(join(root, from), join(made, to))
  }
  for (const path of globSync('{kernel,plugins}/**/*.{wasm,html,css,svg,json}', {
    cwd: root,
    exclude: [consoleFolder],
  })) {
    if (!path.split(/[\\/]/).includes('test')) copy(path, path)
  }
  const built = join(consoleFolder, 'dist')
  // Nobody replaces it meanwhile.
  await withLock('console', () => {
    if (existsSync(join(root, built))) cpSync(join(root, built), join(made, built), { recursive: true })
  })
  // A package.json of their own would make them packages that find no `svc`: built, they are part of it.
  for (const path of globSync('contrib/*/package.json', { cwd: root })) {
    if (existsSync(join(made, dirname(path), 'index.js'))) copy(path, join(dirname(path), 'manifest.json'))
  }
  const main = join(made, 'kernel/main.js')
  if (!readFileSync(main, 'utf8').startsWith('#!'))
    throw new Error('kernel/main.ts must begin with #!/usr/bin/env node')
  chmodSync(main, 0o755)
}

if (import.meta.main) await makeBundleCurrent()
