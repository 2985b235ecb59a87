/** `svcctl dist cert` against the real server. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTestAuthority } from 'svc/plugins/certificates/testing'
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
const authority = createTestAuthority(temporaryFolder(t))

function files(...names: string[]): string[] {
  const { chain, key } = authority.issue(names)
  writeFileSync(join(folder, 'chain.pem'), chain)
  writeFileSync(join(folder, 'key.pem'), key)
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
