/**
 * `svcctl dist cert renew --force` against a real authority: after an order that failed nothing is ordered for a while, unless somebody who has
 * mended the cause says so; the new certificate is the one that is presented.
 */
import { join } from 'node:path'
import { connect } from 'node:tls'
import { eventually } from 'svc/testing'
import t from 'tap'
import { svcctlProgram } from '../services/programs.ts'
import { startAcmeSite } from './acme-site.ts'
import { createAdminClient } from './admin.ts'
import { requireProgram, run } from './clients.ts'
import { accessKey, secretKey } from './server.ts'

const { skip } = requireProgram('pebble')
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
  const { pebble, server, webTlsPort } = await startAcmeSite(t, 'welcome')
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
  const svcctl = (...args: string[]) => run(process.execPath, [svcctlProgram, ...args], server, { environment })
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
