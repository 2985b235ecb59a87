/** `svcctl dist cert` against the real server. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { startServer } from './server.ts'
import { createSession } from './session.ts'

const server = await startServer()
t.teardown(() => server.stop())
const { run, folder } = createSession(temporaryFolder(t))
await run(['--admin-url', server.adminUrl, 'alias', 'set', 'home', server.endpoint, 'admin'], {
  env: { SVCCTL_SECRET_KEY: 'change-me-please' },
})

/** A certificate of its own, in files of the session. */
function files(name: string): string[] {
  const algorithm = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  const names = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`]
  const written = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'chain.pem')]
  execFileSync('openssl', ['req', '-x509', ...algorithm, ...names, ...written], { stdio: 'ignore' })
  return ['--cert', 'chain.pem', '--key', 'key.pem']
}

t.test('uploads, lists, shows, replaces and removes', async t => {
  const uploaded = await run(['dist', 'cert', 'upload', 'home', 'site', ...files('a.test'), '--comment', 'by hand'])
  t.match(uploaded, { code: 0, stdout: /^names +a\.test$/m })
  t.match(uploaded.stdout, /^state +valid$/m)
  t.notMatch(uploaded.stdout, /PRIVATE/)
  t.match(await run(['dist', 'cert', 'upload', 'home', 'site', ...files('a.test')]), { code: 5, stderr: /already/ })
  t.match(await run(['dist', 'cert', 'list', 'home']), { code: 0, stdout: /site +upload +valid +a\.test/ })
  t.match(await run(['dist', 'cert', 'list', 'home', '--domain', 'b.test']), { code: 0, stdout: '' })
  t.match(await run(['dist', 'cert', 'replace', 'home', 'site', ...files('b.test')]), { code: 0, stdout: /b\.test/ })
  t.match(await run(['dist', 'cert', 'get', 'home', 'site', '--json']), {
    records: [{ id: 'site', domains: ['b.test'] }],
  })
  t.match(await run(['dist', 'cert', 'renew', 'home', 'site']), { code: 5, stderr: /was uploaded/ })
  t.match(await run(['dist', 'cert', 'remove', 'home', 'site', '--yes']), { code: 0, stdout: /Removed site/ })
  t.match(await run(['dist', 'cert', 'get', 'home', 'site']), { code: 3 })
})

t.test('without its files, and with files that are none', async t => {
  t.match(await run(['dist', 'cert', 'upload', 'home', 'site']), { code: 2, stderr: /--cert FILE --key FILE/ })
  writeFileSync(join(folder, 'key.pem'), 'nothing')
  const outcome = await run(['dist', 'cert', 'upload', 'home', 'site', '--cert', 'chain.pem', '--key', 'key.pem'])
  t.match(outcome, { code: 1, stderr: /no unencrypted key/ })
})
