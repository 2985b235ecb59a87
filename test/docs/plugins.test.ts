/** What docs/operate/plugins.md shows: each configuration selects the plugins that the page says, and sentences are those of the server. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import t from 'tap'
import { runCli } from '../../kernel/program/cli.ts'
import { root } from './blocks.ts'

const page = readFileSync(join(root, 'docs/operate/plugins.md'), 'utf8')
const blocksOf = (kind: string) =>
  [...page.matchAll(new RegExp(`\`\`\`${kind}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, block]) => block!)

async function run(argv: readonly string[], env: Record<string, string> = {}) {
  const text = { stdout: '', stderr: '' }
  const stream = (name: 'stdout' | 'stderr') =>
    new Writable({
      write(chunk, _encoding, done) {
        text[name] += chunk
        done()
      },
    })
  const code = await runCli(argv, { stdout: stream('stdout'), stderr: stream('stderr'), env })
  return { code, ...text }
}

t.test('the configurations of the page', async t => {
  const folder = t.testdir({
    'my-lifecycle.js': "export default { name: 'lifecycle', version: '7.0.0', setup() {} }\n",
    'my-plugin.js': "export default { name: 'my-plugin', setup() {} }\n",
    'package.json': '{ "type": "module" }',
  })
  const config = join(folder, 'config.json')
  const found: string[][] = []
  for (const block of blocksOf('json')) {
    writeFileSync(config, block)
    const { code, stdout, stderr } = await run(['plugins', '--config', config, '--json'])
    t.same([code, stderr], [0, ''], block)
    const { plugins } = JSON.parse(stdout) as { plugins: { name: string; version: string; state: string }[] }
    const wanted = ['lifecycle', 'kafka', 'my-plugin', 'trace', 'objects']
    found.push(
      plugins
        .filter(({ name }) => wanted.includes(name))
        .map(({ name, state }) => `${name} ${state}`)
        .sort(),
    )
  }
  t.same(found, [
    ['kafka disabled', 'lifecycle disabled', 'objects loaded', 'trace loaded'],
    ['kafka loaded', 'lifecycle loaded', 'lifecycle replaced', 'objects loaded', 'trace loaded'],
    ['kafka loaded', 'lifecycle loaded', 'my-plugin loaded', 'objects loaded', 'trace disabled'],
  ])
})

t.test('the sentences of the page', async t => {
  const [refusal, effects] = blocksOf('text')
  const [, variable] = /`SVC_PLUGINS='([^']+)'`/.exec(page)!
  t.match(await run(['plugins'], { SVC_PLUGINS: variable! }), {
    code: 0,
    stdout: / from svc\/plugins\/standard: disabled\n/,
  })
  const dry = (...disable: string[]) =>
    run(['server', '--dry-run'], { SVC_PLUGINS: JSON.stringify([{ disable }]), SVC_ROOT_USER: 'admin' })
  const words = (text: string) => text.replaceAll(/\s+/g, ' ').trim()
  t.ok(words((await dry('queue')).stderr).includes(words(refusal!)))
  t.ok((await dry('kms')).stdout.includes(effects!))
})
