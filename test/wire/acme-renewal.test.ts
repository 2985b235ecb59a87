/**
 * Renewals by real orders while a website over TLS is under load: curl and OpenSSL on new connections, Node.js on new and on kept ones. No
 * handshake and no request fails, and the private keys of all orders stay in sealed storage.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent, get } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TLSSocket } from 'node:tls'
import { eventually, temporaryFolder } from 'svc/testing'
import t from 'tap'
import { startAcmeSite } from './acme-site.ts'
import { createAdminClient } from './admin.ts'
import { requireProgram, run } from './clients.ts'
import { archive, files, placesWith } from './secret-search.ts'

const { skip: skipPebble } = requireProgram('pebble')
const { path: curl, skip: skipCurl } = requireProgram('curl')
const host = 'www.site.test'
const page = 'welcome'.repeat(1000)
const renewals = 3

t.test('renewed by real orders under load', { skip: skipPebble || skipCurl }, async t => {
  const folder = temporaryFolder(t)
  const { pebble, server, webTlsPort } = await startAcmeSite(t, page)
  const { call } = createAdminClient(server)
  await call('POST', '/distributions', {
    id: 'site',
    aliases: [host],
    origin: { bucket: 'pages' },
    tls: { certificate: 'auto', challenge: 'http-01' },
    defaultBehavior: { access: 'public', indexDocument: 'index.html' },
  })
  type Seen = { readonly state: string; readonly fingerprint: string; readonly acme: { readonly lastError: string } }
  const settled = (isRight: (certificate: Seen) => boolean) =>
    eventually<Seen>(() => call('GET', '/certificates/site'), isRight)
  let { fingerprint, acme } = await settled(({ state }) => state === 'valid' || state === 'failed')
  t.equal(acme.lastError, '')
  const issued = [fingerprint]
  const caFile = join(folder, 'root.pem')
  writeFileSync(caFile, await pebble.root())
  const ca = readFileSync(caFile)

  const seen = new Set<string>()
  const counts = { created: 0, kept: 0, curl: 0 }
  let isLoaded = true
  const request = (agent: Agent | false) =>
    new Promise<void>((done, fail) => {
      const options = { host: '127.0.0.1', port: webTlsPort, servername: host, ca, headers: { host }, agent, path: '/' }
      get(options, answer => {
        const socket = answer.socket as TLSSocket
        const found = socket.getPeerX509Certificate()?.fingerprint256.replaceAll(':', '').toLowerCase()
        if (found !== undefined) seen.add(found)
        text(answer).then(body => {
          if (answer.statusCode !== 200 || body !== page) return fail(new Error(`${answer.statusCode}: ${body}`))
          done()
        }, fail)
      }).on('error', fail)
    })
  const agent = new Agent({ keepAlive: true, maxSockets: 2 })
  t.teardown(() => agent.destroy())
  const loop = async (kind: keyof typeof counts, work: () => Promise<unknown>) => {
    while (isLoaded) {
      await work()
      counts[kind]++
    }
  }
  const curlArguments = ['-sS', '--fail', '--cacert', caFile, '--resolve', `${host}:${webTlsPort}:127.0.0.1`]
  const curlOnce = async () => {
    const { stdout } = await run(curl, [...curlArguments, `https://${host}:${webTlsPort}/`], server, { folder })
    if (stdout !== page) throw new Error(`curl got ${stdout.length} characters`)
  }
  const load = Promise.all([
    loop('created', () => request(false)),
    loop('created', () => request(false)),
    loop('kept', () => request(agent)),
    loop('kept', () => request(agent)),
    loop('curl', curlOnce),
  ])
  load.catch(() => {})
  for (let count = 0; count < renewals; count++) {
    await call('POST', '/certificates/site/renew')
    const former = fingerprint
    fingerprint = (await settled(({ state, fingerprint: now }) => state === 'valid' && now !== former)).fingerprint
    issued.push(fingerprint)
    await eventually(
      async () => seen.has(fingerprint),
      isSeen => isSeen,
    )
  }
  isLoaded = false
  await load
  t.comment(JSON.stringify(counts))
  for (const [kind, count] of Object.entries(counts)) t.ok(count > 0, `${count} requests: ${kind}`)
  t.same([...seen].sort(), [...issued].sort(), 'each certificate was presented, and no other')
  const openssl = ['s_client', '-connect', `127.0.0.1:${webTlsPort}`, '-servername', host, '-CAfile', caFile]
  const { stdout } = spawnSync('openssl', [...openssl, '-verify_hostname', host], { input: '', encoding: 'utf8' })
  t.match(stdout, /Verif(?:y return code: 0|ication: OK)/)

  const admin = createAdminClient(server)
  const answers = JSON.stringify([await admin.call('GET', '/certificates'), await admin.call('GET', '/distributions')])
  const unpacked = await archive(admin, folder)
  await server.stop()
  const places = [{ name: 'answers', bytes: Buffer.from(answers) }, unpacked, ...files(server)]
  t.ok(placesWith(places, ['BEGIN CERTIFICATE']).length > 0, 'chains are stored')
  t.same(placesWith(places, ['PRIVATE KEY']), [])
})
