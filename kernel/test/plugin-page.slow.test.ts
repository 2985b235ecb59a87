/** The examples of docs/develop/plugin.md run as they stand there, and pass the type check that the page describes. */
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import t from 'tap'
import { runCli } from '../program/cli.ts'

const root = resolve(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'docs/develop/plugin.md'), 'utf8')
const blocksOf = (language: string): [string, string][] =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\\n// (\\S+)\\n(.*?)\`\`\``, 'gs'))].map(match => [
    match[1]!,
    match[2]!,
  ])
const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc')

/** A check of the example makes some ten thousand; with `Static` of an unknown schema in a face it makes 1.3 million. */
const instantiationsMax = 100_000

t.test('the example plugins pass their test and add their command', async t => {
  const blocks = blocksOf('ts')
  t.same(
    blocks.map(([name]) => name),
    ['greeting.ts', 'loud.ts', 'greeting.test.ts'],
  )
  const dir = t.testdir(Object.fromEntries(blocks))
  const test = spawnSync(process.execPath, ['--conditions=svc-src', join(dir, 'greeting.test.ts')], {
    encoding: 'utf8',
  })
  t.equal(test.status, 0, test.stdout + test.stderr)
  t.match(test.stdout, /1\.\.3\nok 1 - a greeting is decorated/)
  let stdout = ''
  const stream = { write: (text: string) => (stdout += text) } as unknown as NodeJS.WritableStream
  const env = { SVC_PLUGINS: `${dir}/loud.ts,${dir}/greeting.ts`, SVC_GREETING_WORD: 'Hi' }
  t.equal(await runCli(['greet', 'Ada'], { stdout: stream, stderr: stream, env }), 0)
  t.equal(stdout, 'Hi Ada!\n')
})

/** Imports what each exported pattern has, and uses types wrongly: what resolves to nothing, or to `any`, is an error too. */
function useOfFaces(): string {
  const faces = globSync('plugins/*/{api,contract}.ts', { cwd: root }).map(path => path.replace(/\.ts$/, ''))
  return [
    "import { definePlugin, type ObjectOf } from 'svc/kernel'",
    "import { startKernel } from 'svc/testing'",
    "import { type TObject, Type } from 'typebox'",
    "import { defineAdminOperation } from 'svc/plugins/admin/api'",
    "import type { AuditSinkKind as AuditKind } from 'svc/plugins/audit/api'",
    "import type { NotifyTargetKind as NotifyKind } from 'svc/plugins/notify/api'",
    ...faces.map((face, i) => `import type * as face${i} from 'svc/${face}'`),
    `export type Faces = [${faces.map((_, i) => `typeof face${i}`)}]`,
    'const schema = Type.Object({ word: Type.String(), size: Type.Optional(Type.Integer()) })',
    'export const value: ObjectOf<typeof schema> = { word: "w" }',
    '// @ts-expect-error',
    'export const wrong: ObjectOf<typeof schema> = { word: 1 }',
    'export interface Holder<Schema extends TObject> { hold(value: ObjectOf<Schema>): void }',
    '// @ts-expect-error',
    "export const unnamed = definePlugin({ setup: ({ log }) => log.info('x') })",
    "export const named = definePlugin({ name: 'named', config: schema, setup({ config, contribute }) {",
    '  const size: number | undefined = config.size',
    '  // @ts-expect-error',
    '  const word: number = config.word',
    '  // @ts-expect-error',
    "  contribute('audit.sink', 'x', { size, word })",
    '} })',
    ...['Audit', 'Notify'].flatMap(name => [
      `export const send${name} = (kind: ${name}Kind<typeof schema>) => definePlugin({ name: 'send', setup({ contribute }) {`,
      `  contribute('${name === 'Audit' ? 'audit.sink' : 'notify.target'}', 'kind', kind)`,
      '  // @ts-expect-error',
      '  kind.endpoint({ word: 1 })',
      '} })',
    ]),
    "const told = { id: 'x', tag: 'x', summary: 'x', authorize: 'self', method: 'PUT', path: '/x' } as const",
    'export const operation = defineAdminOperation({ ...told, body: schema, response: schema, handle({ body }) {',
    '  // @ts-expect-error',
    '  const word: number = body.word',
    '  return { ...body, size: word }',
    '} })',
    '// @ts-expect-error',
    'export const kernel = startKernel({ plugins: 1 })',
    '',
  ].join('\n')
}

t.test('the example passes the type check of the page against the built types', async t => {
  const dir = t.testdir({
    ...Object.fromEntries([...blocksOf('ts'), ...blocksOf('jsonc')]),
    'faces.ts': useOfFaces(),
    // The package of the author: without it the files would belong to this one.
    'package.json': JSON.stringify({ name: 'svc-plugin-greeting', type: 'module' }),
  })
  const installed = join(dir, 'node_modules/svc')
  cpSync(join(root, 'package.json'), join(installed, 'package.json'))
  const compile = (...options: readonly string[]) =>
    spawnSync(process.execPath, [compiler, ...options], { cwd: dir, encoding: 'utf8' })
  // The declarations of a release, as far as the exports lead to them. `npm run check` has checked the sources.
  const entries = ['kernel/index.ts', 'kernel/testing/index.ts', 'plugins/*/{api,contract}.ts']
  const release = {
    extends: join(root, 'tsconfig.build.json'),
    compilerOptions: {
      rootDir: root,
      outDir: join(installed, 'dist'),
      typeRoots: [join(root, 'node_modules/@types')],
      emitDeclarationOnly: true,
      noCheck: true,
    },
    files: globSync(entries, { cwd: root }).map(path => join(root, path)),
    include: [],
  }
  writeFileSync(join(dir, 'release.json'), JSON.stringify(release))
  const built = compile('-p', 'release.json')
  t.equal(built.status, 0, built.stdout + built.stderr)

  const { status, stdout } = compile('--noEmit', '--extendedDiagnostics')
  t.equal(status, 0, stdout)
  const instantiations = Number(/^Instantiations: +(\d+)$/m.exec(stdout)?.[1])
  t.ok(instantiations < instantiationsMax, `${instantiations} instantiations of types`)
  const files = compile('--noEmit', '--listFilesOnly').stdout.split('\n')
  const ownFile = (path: string) => path.startsWith(`${root}/`) && !path.startsWith(`${root}/node_modules/`)
  t.same(
    files.filter(path => ownFile(path) && !path.startsWith(dir)),
    [],
    'no source of the server is read',
  )
  t.ok(files.includes(join(installed, 'dist/kernel/index.d.ts')), 'but its declarations are')
})
