/** docs/operate/svcctl.md, line by line, with svcctl as a program. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { svcctlProgram } from '../../../test/services/programs.ts'
import { startServer } from './server.ts'
import { root, runChild } from './session.ts'

const server = await startServer()
t.teardown(() => server.stop())
const folder = temporaryFolder(t, 'bin')
const program = join(folder, 'bin/svcctl')
writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${svcctlProgram}' "$@"\n`, {
  mode: 0o755,
})
const environment = { PATH: `${join(folder, 'bin')}:${process.env.PATH}`, HOME: folder, LC_ALL: 'C.UTF-8' }

t.test('the tour runs to its end', async t => {
  const page = readFileSync(join(root, 'docs/operate/svcctl.md'), 'utf8')
  const blocks = [...page.matchAll(/<!-- tour -->\n```sh\n([\s\S]*?)```/g)].map(([, text]) => text)
  t.ok(blocks.length > 3)
  const script = `set -euo pipefail\n${blocks.join('\n')}`
    .replaceAll('http://localhost:9000', server.endpoint)
    // Here it is not at the port after that of S3.
    .replaceAll('svcctl alias set', `svcctl --admin-url ${server.adminUrl} alias set`)
  mkdirSync(join(folder, 'home'))
  const { code, output } = await runChild('bash', ['-c', script], { cwd: join(folder, 'home'), env: environment })
  t.equal(code, 0, 'to its end', { output })
  for (const text of [
    'Saved home',
    'notes/2026/hello.txt',
    'would copy',
    'exit code 3',
    'Removed home/svcctl-tour.',
    'Removed home/svcctl-drafts.',
    /\* \S+ plan\.txt\n.* {3}\S+ plan\.txt\n/,
    /\nfirst draft\nRemoved/,
    'for eve',
    'revoked, as it should be',
    'Saved notes.zip.',
    'Saved two.zip.',
    /^Redundancy +none, a lost drive/m,
    '"size":18',
  ]) {
    t.match(output, text)
  }
})

t.test('completion offers commands, options, aliases, buckets and keys', async t => {
  const script = `source <(svcctl completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _svcctl; printf "%s\\n" "\${COMPREPLY[@]}"`
  const complete = async (...words: string[]) => {
    const args = ['-c', script, 'bash', 'svcctl', ...words]
    return (await runChild('bash', args, { cwd: folder, env: environment })).output.trim().split('\n')
  }
  t.same(await complete('mir'), ['mirror'])
  t.same(await complete('alias', 're'), ['remove'])
  t.ok((await complete('cp', '--re')).includes('--recursive'))
  t.same(await complete('ls', 'ho'), ['home/'])
  t.same(await complete('--json', 'alias', 'remove', 'h'), ['home'])
  await runChild(program, ['mb', 'home/completed'], { cwd: folder, env: environment })
  await runChild(program, ['cp', program, 'home/completed/a b/key'], { cwd: folder, env: environment })
  t.same(await complete('ls', 'home/comp'), ['home/completed/'])
  for (const typed of ['home/completed/a\\ b/', '"home/completed/a b/', "'home/completed/a b/"])
    t.same(await complete('cat', typed), ['home/completed/a b/key'], typed)
})
