/**
 * Makes dist/: the same sources as JavaScript with type declarations, and beside them what the sources load that is no
 * TypeScript. The product runs from it without any build tool, also from inside node_modules.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { buildSvcctl } from './build-svcctl.mjs'

const root = resolve(import.meta.dirname, '..')
const target = join(root, 'dist')

rmSync(target, { recursive: true, force: true })
const compiler = join(root, 'node_modules/typescript/bin/tsc')
const { status } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' })
if (status !== 0) process.exit(status ?? 1)

const assets = globSync('{kernel,plugins}/**/*.{wasm,html,css,svg,json}', { cwd: root }).filter(
  path => !path.split(/[\\/]/).includes('test'),
)
for (const path of assets) {
  mkdirSync(dirname(join(target, path)), { recursive: true })
  copyFileSync(join(root, path), join(target, path))
}

// A package.json of their own would make them packages that find no `svc`: built, they are part of it.
for (const path of globSync('contrib/*/package.json', { cwd: root })) {
  const folder = join(target, dirname(path))
  if (existsSync(join(folder, 'index.js'))) copyFileSync(join(root, path), join(folder, 'manifest.json'))
}

const main = join(target, 'kernel/main.js')
if (!readFileSync(main, 'utf8').startsWith('#!')) throw new Error('kernel/main.ts must begin with #!/usr/bin/env node')
chmodSync(main, 0o755)

// SOURCE_DATE_EPOCH, in seconds, makes builds that can be compared.
const epoch = process.env.SOURCE_DATE_EPOCH
const date = new Date(epoch === undefined ? Date.now() : Number(epoch) * 1000).toISOString()
const git = ['rev-parse', '--short=12', 'HEAD']
const commit = existsSync(join(root, '.git')) && spawnSync('git', git, { cwd: root, encoding: 'utf8' }).stdout?.trim()
writeFileSync(join(target, 'kernel/build.json'), `${JSON.stringify({ date, ...(commit && { commit }) })}\n`)

// The package of the server installs svcctl too.
await buildSvcctl(join(target, 'contrib/svcctl'), { isBundled: true })

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const moduleCount = globSync('**/*.js', { cwd: target }).length
console.log(
  `Made dist/: svc ${version}, ${moduleCount} modules. node dist/kernel/main.js is svc, node dist/contrib/svcctl/main.js is svcctl.`,
)
