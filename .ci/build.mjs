/**
 * Makes all of dist/, which is what the package contains: the bundled server, type declarations for authors of plugins, svcctl, and
 * which revision this is. The product runs from it without any build tool, also from inside node_modules.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { makeBundle } from './bundle.mjs'

const root = resolve(import.meta.dirname, '..')

// SOURCE_DATE_EPOCH, in seconds, makes builds that can be compared.
const epoch = process.env.SOURCE_DATE_EPOCH
const date = new Date(epoch === undefined ? Date.now() : Number(epoch) * 1000).toISOString()
const git = ['rev-parse', '--short=12', 'HEAD']
const commit = existsSync(join(root, '.git')) && spawnSync('git', git, { cwd: root, encoding: 'utf8' }).stdout?.trim()

await makeBundle(async target => {
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  // `npm run check:types` checks them, and the tests with them; declarations alone take less (25 instead of 42 s of CPU when it was measured).
  const options = ['-p', 'tsconfig.build.json', '--noCheck', '--outDir', target]
  const { status } = spawnSync(process.execPath, [compiler, ...options], { cwd: root, stdio: 'inherit' })
  if (status !== 0) throw new Error('The type declarations cannot be made')
  writeFileSync(join(target, 'kernel/program/build.json'), `${JSON.stringify({ date, ...(commit && { commit }) })}\n`)
})

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
console.log(`Made dist/: svc ${version}. node dist/kernel/main.js is svc, node dist/contrib/svcctl/main.js is svcctl.`)
