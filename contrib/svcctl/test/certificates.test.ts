/** `svcctl dist cert` against the real server. */
import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually, startPebble } from 'svc/plugins/acme/testing'
import { findLastingPort, temporaryFolder } from 'svc/testing'
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

const hasPebble = spawnSync('which', ['pebble']).status === 0
t.test('an order of a real authority is waited for with its phases', { skip: !hasPebble && 'no pebble' }, async t => {
  const port = await findLastingPort()
  const pebble = await startPebble(t, { httpPort: port, tlsPort: port })
  const ordering = await startServer({
    config: {
      http: { address: `127.0.0.1:${port}`, consoleAddress: '127.0.0.1:0' },
      acme: { directory: pebble.directory, caCert: pebble.caFile, httpPort: port },
      dns: { nameservers: [pebble.dnsServer] },
    },
  })
  t.teardown(() => ordering.stop())
  await run(['--admin-url', ordering.adminUrl, 'alias', 'set', 'ca', ordering.endpoint, 'admin'], {
    env: { SVCCTL_SECRET_KEY: 'change-me-please' },
  })
  await run(['mb', 'ca/pages'])
  const site = { id: 'site', aliases: ['www.a.test'], origin: { bucket: 'pages' }, tls: { certificate: 'auto' } }
  const created = await ordering.sendToAdmin({
    method: 'POST',
    path: '/api/v1/distributions',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(site),
  })
  t.equal(created.status, 201, await created.text())
  const settled = () =>
    eventually(
      async () => (await run(['dist', 'cert', 'get', 'ca', 'site', '--json'])).records[0] as { state?: string },
      certificate => certificate?.state === 'valid' || certificate?.state === 'failed',
    )
  t.match(await settled(), { state: 'valid' })
  const plain = await run(['dist', 'cert', 'renew', 'ca', 'site', '--wait'])
  t.match(plain, { code: 0, stdout: /^state +valid$/m })
  t.same(
    plain.stderr
      .trim()
      .split('\n')
      .map(line => line.split(':')[0]),
    ['order', 'challenge', 'validation', 'issue'],
  )
  const live = await run(['dist', 'cert', 'renew', 'ca', 'site', '--wait'], { isTTY: true })
  t.match(live, { code: 0, stderr: /validation: the authority looks for the proof … \d+ s\n/ })
  t.match(await run(['dist', 'cert', 'renew', 'ca', 'site', '--wait', '--quiet']), { code: 0, stderr: '' })
  await pebble.stop()
  const failed = await run(['dist', 'cert', 'renew', 'ca', 'site', '--wait'])
  t.match(failed, { code: 1, stderr: /could not be asked: .* refuses connections.*tried again at/s })
})
