/**
 * `svcctl dist cert renew --force` against a real authority: after an order that failed nothing is ordered for a while, unless somebody who has
 * mended the cause says so; the new certificate is the one that is presented.
 */
import { join, resolve } from 'node:path'
import { connect } from 'node:tls'
import { CreateBucketCommand } from '@aws-sdk/client-s3'
import { eventually, startPebble } from 'svc/plugins/acme/testing'
import { findLastingPort } from 'svc/testing'
import t from 'tap'
import { createAdminClient } from './admin.ts'
import { requireProgram, run } from './clients.ts'
import { createClient } from './sdk.ts'
import { accessKey, secretKey, startServer } from './server.ts'

const { skip } = requireProgram('pebble')
const program = resolve(import.meta.dirname, '../../contrib/svcctl/main.ts')
const host = 'www.site.test'

function presentedSerial(port: number, ca: string): Promise<string> {
  return new Promise((done, fail) => {
    const socket = connect({ host: '127.0.0.1', port, servername: host, ca }, () => {
      done(socket.getPeerX509Certificate()!.serialNumber.toLowerCase())
      socket.destroy()
    })
    socket.on('error', fail)
  })
}

t.test('issued, renewed, failed, refused, and forced', { skip }, async t => {
  const [webPort, webTlsPort] = [await findLastingPort(), await findLastingPort()]
  const pebble = await startPebble(t, { httpPort: webPort, tlsPort: webTlsPort })
  const server = await startServer({
    environment: {
      SVC_WEB_ADDRESS: `127.0.0.1:${webPort}`,
      SVC_WEB_TLS_ADDRESS: `127.0.0.1:${webTlsPort}`,
      SVC_ACME_DIRECTORY: pebble.directory,
      SVC_ACME_CA_CERT: pebble.caFile,
      SVC_ACME_DNS_NAMESERVERS: pebble.dnsServer,
      SVC_ACME_HTTP_PORT: String(webPort),
    },
  })
  t.teardown(() => server.remove())
  const s3 = createClient(server)
  t.teardown(() => s3.destroy())
  await s3.send(new CreateBucketCommand({ Bucket: 'pages' }))
  const { call } = createAdminClient(server)
  await call('POST', '/distributions', {
    id: 'site',
    aliases: [host],
    origin: { bucket: 'pages' },
    tls: { certificate: 'auto', challenge: 'http-01' },
  })
  const issued = await eventually(
    () => call('GET', '/certificates/site'),
    ({ state }) => state === 'valid' || state === 'failed',
  )
  t.match(issued, { state: 'valid' }, issued.acme.lastError)
  const root = await pebble.root()
  const first = await presentedSerial(webTlsPort, root)

  const environment = { SVCCTL_CONFIG_DIR: join(server.folder, 'svcctl'), SVCCTL_SECRET_KEY: secretKey }
  const svcctl = (...args: string[]) =>
    run(process.execPath, ['--conditions=svc-src', program, ...args], server, { environment })
  const adminUrl = `http://${server.startup.console}`
  t.match(await svcctl('--admin-url', adminUrl, 'alias', 'set', 'home', server.endpoint, accessKey), { code: 0 })
  const renew = (...options: string[]) => svcctl('dist', 'cert', 'renew', 'home', 'site', ...options)

  // Nobody answers there.
  await pebble.setAddress(host, '127.0.0.2')
  const failed = await renew('--wait')
  t.not(failed.code, 0, failed.stdout)
  t.equal(await presentedSerial(webTlsPort, root), first, 'a failed order changes no certificate')

  await pebble.setAddress(host, '127.0.0.1')
  const refused = await renew('--wait')
  t.not(refused.code, 0)
  t.match(refused.stderr, /The authority is not asked again before .*--force orders all the same/)

  const forced = await renew('--force', '--wait')
  t.equal(forced.code, 0, forced.stdout + forced.stderr)
  t.match(forced.stderr, /Authorities count failed orders/)
  const second = await presentedSerial(webTlsPort, root)
  t.not(second, first, 'a new serial is presented')
  const { serial, state } = await call('GET', '/certificates/site')
  t.match({ serial: `${serial}`.toLowerCase(), state }, { serial: second, state: 'valid' })
})
