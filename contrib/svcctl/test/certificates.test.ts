/** `svcctl dist cert` against the real server. */
import { execFileSync } from 'node:child_process'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
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

/** A certificate of its own, or by the issuer of these options, in files of the session. */
function files(name: string, by: readonly string[] = []): string[] {
  const algorithm = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  const names = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`]
  const written = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'chain.pem')]
  execFileSync('openssl', ['req', '-x509', ...by, ...algorithm, ...names, ...written], { stdio: 'ignore' })
  return ['--cert', 'chain.pem', '--key', 'key.pem']
}

t.test('uploads, lists, shows, replaces and removes', async t => {
  const uploaded = await run(['dist', 'cert', 'upload', 'home', 'site', ...files('a.test'), '--comment', 'by hand'])
  t.match(uploaded, { code: 0, stdout: /^names +a\.test$/m })
  t.match(uploaded.stdout, /^state +valid$/m)
  t.notMatch(uploaded.stdout, /PRIVATE/)
  t.match(await run(['dist', 'cert', 'upload', 'home', 'site', ...files('a.test')]), {
    code: 5,
    stderr: /already; `svcctl dist cert replace home\/site` replaces it/,
  })
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

t.test('one that is served is replaced by one for other domains only with --force', async t => {
  t.equal((await run(['mb', 'home/pages'])).code, 0)
  t.equal((await run(['dist', 'create', 'home/pages', '--bucket', 'pages', '--alias', 'served.test'])).code, 0)
  t.equal((await run(['dist', 'cert', 'upload', 'home', 'served', ...files('served.test')])).code, 0)
  const replace = ['dist', 'cert', 'replace', 'home', 'served', ...files('other.test')]
  t.match(await run(replace), { code: 5, stderr: /Visitors of served\.test get "served" now.*--force replaces it/ })
  const remove = ['dist', 'cert', 'remove', 'home', 'served', '--yes']
  t.match(await run(remove), { code: 5, stderr: /Visitors of served\.test get "served" now.*--force deletes it/ })
  t.match(await run([...replace, '--force']), { code: 0, stdout: /^names +other\.test$/m })
  files('served.test')
  t.equal((await run(replace)).code, 0)
  t.match(await run([...remove, '--force']), { code: 0, stdout: /Removed served/ })
})

t.test('a chain without its intermediate is taken, and told of', async t => {
  files('issuer.test')
  const issuer = readFileSync(join(folder, 'chain.pem'), 'utf8')
  for (const name of ['chain.pem', 'key.pem']) renameSync(join(folder, name), join(folder, `issuer-${name}`))
  const by = ['-CA', join(folder, 'issuer-chain.pem'), '-CAkey', join(folder, 'issuer-key.pem')]
  const upload = (id: string) => run(['dist', 'cert', 'upload', 'home', id, ...files('alone.test', by)])
  t.match(await upload('alone'), { code: 0, stderr: /leaf alone.*CN=issuer\.test/ })
  const leaf = readFileSync(join(folder, 'chain.pem'), 'utf8')
  const replace = (chain: string) => {
    writeFileSync(join(folder, 'chain.pem'), chain)
    return run(['dist', 'cert', 'replace', 'home', 'alone', '--cert', 'chain.pem', '--key', 'key.pem'])
  }
  const whole = await replace(leaf + issuer)
  t.equal(whole.code, 0, whole.stderr)
  t.notMatch(whole.stderr, /leaf alone/)
  t.match(await replace(issuer + leaf), { code: 1, stderr: /begins with CN=issuer\.test.*certificate 2: put it first/ })
})
