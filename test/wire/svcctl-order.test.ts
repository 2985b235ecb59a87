/** `svcctl dist cert renew --wait` as a process, on a terminal and without one, while a real authority issues. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { CreateBucketCommand } from '@aws-sdk/client-s3'
import { startPebble } from 'svc/plugins/acme/testing'
import { skipWithoutNamed, startNamed } from 'svc/plugins/dns/testing'
import { eventually, findLastingPort, temporaryFolder } from 'svc/testing'
import t from 'tap'
import { svcctlProgram } from '../services/programs.ts'
import { createAdminClient } from './admin.ts'
import { requireProgram } from './clients.ts'
import { createClient } from './sdk.ts'
import { accessKey, secretKey, startServer } from './server.ts'

const { skip } = requireProgram('pebble')
const { skip: skipTerminal } = requireProgram('script')

t.test('the phases of an order are shown', { skip: skip || skipTerminal || skipWithoutNamed() }, async t => {
  const folder = temporaryFolder(t)
  const zone = 'order.test'
  const named = await startNamed(t, { zones: { [zone]: [] }, fixedZones: ['test'] })
  const pebble = await startPebble(t, { httpPort: 9, tlsPort: 9, dnsServer: named.server })
  const server = await startServer({
    environment: {
      SVC_WEB_TLS_ADDRESS: `127.0.0.1:${await findLastingPort()}`,
      SVC_ACME_DIRECTORY: pebble.directory,
      SVC_ACME_CA_CERT: pebble.caFile,
      SVC_ACME_DNS_NAMESERVERS: named.server,
    },
  })
  t.teardown(() => server.remove())
  const s3 = createClient(server)
  t.teardown(() => s3.destroy())
  await s3.send(new CreateBucketCommand({ Bucket: 'pages' }))
  const { call } = createAdminClient(server)
  await call('POST', '/dns-providers', {
    name: 'main',
    type: 'rfc2136',
    rfc2136: { nameserver: named.server, tsigKeyName: named.key.name },
    credentials: { tsigSecret: named.key.secret },
    ttl: 1,
    pollingInterval: '100ms',
  })
  await call('POST', '/distributions', {
    id: 'site',
    aliases: [zone, `*.${zone}`],
    origin: { bucket: 'pages' },
    tls: { certificate: 'auto', challenge: 'dns-01', dnsProvider: 'main' },
  })
  const issued = await eventually(
    () => call('GET', '/certificates/site'),
    ({ state }) => state === 'valid' || state === 'failed',
  )
  t.equal(issued.acme.lastError, '')

  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    SVCCTL_CONFIG_DIR: join(folder, 'svcctl'),
    SVCCTL_SECRET_KEY: secretKey,
  }
  async function run(program: string, args: readonly string[]) {
    const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    const ended = new Promise<number | null>(done => child.on('close', done))
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
    return { code: await ended, stdout, stderr }
  }
  const command = [svcctlProgram]
  const alias = ['--admin-url', `http://${server.startup.console}`, 'alias', 'set', 'home', server.endpoint, accessKey]
  t.match(await run(process.execPath, [...command, ...alias]), { code: 0 })
  const renew = ['dist', 'cert', 'renew', 'home', 'site', '--wait']
  const plain = await run(process.execPath, [...command, ...renew])
  t.match(plain, { code: 0, stdout: /^state +valid$/m })
  const phases = plain.stderr.trim().split('\n')
  t.same(
    phases.map(line => line.split(':')[0]),
    ['order', 'challenge', 'propagation', 'validation', 'issue'],
  )
  // With a terminal of its own.
  const typed = [process.execPath, ...command, ...renew].map(word => `'${word}'`).join(' ')
  const live = await run('script', ['-qec', typed, '/dev/null'])
  t.equal(live.code, 0)
  t.match(live.stdout, /propagation: every name server gets the proof … \d+ s\r?\n/)
  t.match(await run(process.execPath, [...command, ...renew, '--quiet']), { code: 0, stderr: '' })
  await pebble.stop()
  const failed = await run(process.execPath, [...command, ...renew])
  t.match(failed, { code: 1, stderr: /could not be asked: .* refuses connections[\s\S]*tried again at/ })
})
