/**
 * Distributions kept in git, by svcctl: out of one real server, into another one that has the secrets in its environment, and the same file
 * again. What the export says is what the visitors of the other server get.
 */
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { findLastingPort } from 'svc/testing'
import t, { type Test } from 'tap'
import { svcctlProgram } from '../services/programs.ts'
import { run } from './clients.ts'
import { accessKey, secretKey, startServer } from './server.ts'

t.setTimeout(300_000)
const token = 'tok3n-that-no-export-has'
const originSecret = 'or1gin-secret-that-no-export-has'

async function startNode(t: Test, environment: Record<string, string> = {}) {
  const webPort = await findLastingPort()
  const server = await startServer({
    environment: {
      SVC_CONSOLE_ADDRESS: `127.0.0.1:${await findLastingPort()}`,
      SVC_WEB_ADDRESS: `127.0.0.1:${webPort}`,
      SVC_CACHE_WEBHOOK_ALLOW: '127.0.0.0/8',
      ...environment,
    },
  })
  t.teardown(() => server.remove())
  const own = { SVCCTL_CONFIG_DIR: join(server.folder, 'svcctl'), SVCCTL_SECRET_KEY: secretKey }
  const runCtl = (...args: string[]) => run(process.execPath, [svcctlProgram, ...args], server, { environment: own })
  const ctl = async (...args: string[]) => {
    const outcome = await runCtl(...args)
    t.equal(outcome.code, 0, `svcctl ${args.join(' ')}`, { stderr: outcome.stderr })
    return outcome.stdout
  }
  await ctl('--admin-url', `http://${server.startup.console}`, 'alias', 'set', 'home', server.endpoint, accessKey)
  await ctl('mb', 'home/pages')
  writeFileSync(join(server.folder, 'page'), 'home')
  await ctl('cp', join(server.folder, 'page'), 'home/pages/index.html')
  const get = (headers: Record<string, string> = {}) =>
    run(
      'curl',
      [
        '-s',
        '-i',
        '-H',
        'Host: www.example.test',
        ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
        `http://127.0.0.1:${webPort}/`,
      ],
      server,
    )
  return { server, ctl, runCtl, get }
}

/** Takes purges with the token. */
async function startProxy(t: Test) {
  const authorized: string[] = []
  const proxy = createServer(({ headers }, response) => {
    authorized.push(String(headers.authorization))
    response.writeHead(200).end()
  })
  await new Promise<void>(done => proxy.listen(0, '127.0.0.1', done))
  t.teardown(() => proxy.close())
  return { authorized, port: (proxy.address() as AddressInfo).port }
}

t.test('from one server to another, and again', async t => {
  const proxy = await startProxy(t)
  const first = await startNode(t)
  const file = join(first.server.folder, 'site.yaml')
  const write = (name: string, document: object) => {
    const path = join(first.server.folder, name)
    writeFileSync(path, JSON.stringify(document))
    return path
  }
  await first.ctl('dist', 'keygroup', 'create', 'home/films')
  const site = {
    aliases: ['www.example.test'],
    origin: { bucket: 'pages' },
    defaultBehavior: { indexDocument: 'index.html' },
    behaviors: [
      { pathPattern: { type: 'prefix', pattern: '/films/' }, access: 'signed', signing: { keyGroup: 'films' } },
    ],
    headers: { preset: 'standard' },
    restrictions: { originSecretHeader: { name: 'x-origin', value: originSecret } },
  }
  await first.ctl('dist', 'set', 'home/site', write('site.json', site))
  const webhook = {
    ...{ id: 'edge', type: 'generic', url: `http://127.0.0.1:${proxy.port}{path}`, method: 'PURGE' },
    ...{ headers: { Authorization: 'Bearer {token}' }, token },
  }
  await first.ctl('cache', 'policy', 'create', 'home', write('short.json', { name: 'short', ttl: { default: '5m' } }))
  const cache = { cache: { policy: 'short' }, webhooks: [webhook] }
  await first.ctl('cache', 'dist', 'set', 'home', 'site', write('cache.json', cache))

  const text = await first.ctl('dist', 'export', 'home')
  writeFileSync(file, text)
  t.notMatch(text, token)
  t.notMatch(text, originSecret)
  t.match(text, '# site-edge-token: SVC_SECRET_SITE_EDGE_TOKEN')
  t.match(await first.ctl('dist', 'diff', 'home', file), /There are no differences \(4 unchanged\)/)
  t.match(await first.ctl('dist', 'import', 'home', file, '--mode', 'replace'), /There are no differences/)
  t.equal(
    (await first.get({ 'X-Origin': originSecret })).stdout.split('\r\n')[0],
    'HTTP/1.1 200 OK',
    'its secret stays',
  )

  const secrets = { SVC_SECRET_SITE_EDGE_TOKEN: token, SVC_SECRET_SITE_ORIGIN_SECRET: originSecret }
  const second = await startNode(t, secrets)
  const planned = await second.runCtl('dist', 'diff', 'home', file)
  t.match(planned, {
    code: 5,
    stdout: /\+ Distribution\/site[\s\S]*4 created, 0 replaced/,
    stderr: /4 documents differ/,
  })
  t.equal(await second.ctl('dist', 'export', 'home'), '', 'a diff changes nothing')
  t.match(await second.ctl('dist', 'import', 'home', file), /Imported: 4 created/)
  t.match(await second.ctl('dist', 'import', 'home', file), /There are no differences \(4 unchanged\)/)
  t.equal(await second.ctl('dist', 'export', 'home'), text, 'it exports the same bytes')

  const right = await second.get({ 'X-Origin': originSecret })
  t.match(right.stdout, /^HTTP\/1.1 200 [\s\S]*X-Frame-Options: SAMEORIGIN/i)
  t.match((await second.get({ 'X-Origin': 'another-secret-of-it' })).stdout, /^HTTP\/1.1 403 /)
  t.match((await second.get()).stdout, /^HTTP\/1.1 403 /)
  t.match(await second.ctl('cache', 'webhooks', 'test', 'home', 'site', 'edge'), /delivered: +yes/)
  t.same(proxy.authorized, [`Bearer ${token}`], 'the webhook has the secret of its node')
  t.notMatch(await second.ctl('--json', 'cache', 'dist', 'get', 'home', 'site'), token)
  t.notMatch(second.server.log(), token)

  await t.test('a change in the file is a change on the server, and a wrong file is none', async t => {
    writeFileSync(file, text.replace('default: 5m', 'default: 7m').replace('preset: standard', 'preset: strict'))
    const { code, stdout: diff } = await second.runCtl('dist', 'diff', 'home', file)
    t.equal(code, 5)
    t.match(diff, '/spec/ttl/default: "5m" -> "7m"')
    t.match(diff, '/spec/headers/preset: "standard" -> "strict"')
    await second.ctl('dist', 'import', 'home', file)
    t.match((await second.get({ 'X-Origin': originSecret })).stdout, /X-Frame-Options: DENY/i)
    writeFileSync(file, text.replace('bucket: pages', 'bucket: gone').replace('policy: short', 'policy: shorter'))
    const wrong = await second.runCtl('dist', 'import', 'home', file)
    t.equal(wrong.code, 1)
    t.match(wrong.stderr, /Distribution\/site\/spec\/origin\/bucket/)
    t.equal(wrong.stderr.match(/Distribution\/site\/spec\/origin\/bucket/g)?.length, 1, 'each place once')
    t.match(wrong.stderr, 'There is no bucket gone: make it first (`svcctl mb ALIAS/gone`)')
    t.match(wrong.stderr, /line \d+/)
    t.match(wrong.stderr, /no cache policy "shorter"/)
    t.match((await second.get({ 'X-Origin': originSecret })).stdout, /^HTTP\/1.1 200 /)
    t.match(await second.ctl('dist', 'get', 'home/site', '-o', 'yaml'), /kind: Distribution[\s\S]*preset: strict/)
  })

  await t.test('what the file lacks goes with --mode replace, after a question', async t => {
    const own = text.split('---\n').filter(part => !part.includes('kind: CachePolicy'))
    writeFileSync(
      file,
      `${own.join('---\n').replace('policy: short', 'policy: standard')}---\napiVersion: svc/v1\nkind: CachePolicy\nmetadata:\n  name: other\n`,
    )
    const asked = await second.runCtl('dist', 'import', 'home', file, '--mode', 'replace')
    t.not(asked.code, 0, 'nobody answers')
    t.match(await second.ctl('dist', 'import', 'home', file, '--mode', 'replace', '--yes'), '- CachePolicy/short')
  })
})

t.test('a secret that a node lacks lets nobody in, and is named', async t => {
  const node = await startNode(t)
  const file = join(node.server.folder, 'site.yaml')
  writeFileSync(
    file,
    `apiVersion: svc/v1
kind: Distribution
metadata: { name: site }
spec:
  aliases: [www.example.test]
  origin: { bucket: pages }
  defaultBehavior: { indexDocument: index.html }
  restrictions: { originSecretHeader: { name: x-origin, values: ["\${secret:my-proxy}"] } }
`,
  )
  const imported = await node.runCtl('dist', 'import', 'home', file)
  t.match(imported, {
    code: 0,
    stderr: `Distribution/site: $\{secret:my-proxy}: SVC_SECRET_MY_PROXY is not set on this node; what needs it refuses requests until then.`,
  })
  for (const value of [`$\{secret:my-proxy}`, 'undefined', '']) {
    t.match((await node.get({ 'X-Origin': value })).stdout, /^HTTP\/1.1 403 /)
  }
  const health = async () => (await fetch(`${node.server.endpoint}/svc/health/ready`)).json()
  const deadlineMs = Date.now() + 30_000
  const told = /the origin secret of the distribution site needs it\. Set SVC_SECRET_MY_PROXY/
  // Each thread looks for itself; the main one writes the log.
  for (;;) {
    const checks = JSON.stringify(await health())
    if (checks.includes('SVC_SECRET_MY_PROXY') && told.test(node.server.log())) break
    if (Date.now() > deadlineMs) throw new Error(`${checks}\n${node.server.log()}`)
    await new Promise(done => setTimeout(done, 200))
  }
})
