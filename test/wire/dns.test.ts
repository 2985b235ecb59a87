/**
 * DNS providers through a real server, svcctl and bind9, in each process model: set up, tested, and what `kill -9` in the middle of a
 * publication leaves.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { skipWithoutNamed, startNamed } from 'svc/plugins/dns/testing'
import t from 'tap'
import { svcctlProgram } from '../services/programs.ts'
import { createAdminClient } from './admin.ts'
import { accessKey, secretKey, startServer } from './server.ts'

const zone = 'example.test'
const waitMsMax = 90_000

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + waitMsMax
  while (!(await condition())) {
    if (performance.now() > deadlineMs) throw new Error('it did not come to that')
    await sleep(20)
  }
}

t.test(
  'a provider is set up and tested with svcctl, and kill -9 leaves no value',
  { skip: skipWithoutNamed() },
  async t => {
    const named = await startNamed(t, { zones: { [zone]: [] } })
    const server = await startServer({ environment: { SVC_ACME_DNS_NAMESERVERS: named.server } })
    t.teardown(() => server.remove())
    const folder = join(server.folder, 'svcctl')
    const svcctl = (args: readonly string[], input = '') => {
      const { status, stdout, stderr } = spawnSync(process.execPath, [svcctlProgram, '--config-dir', folder, ...args], {
        encoding: 'utf8',
        input,
      })
      t.notOk(`${stdout}${stderr}`.includes(named.key.secret), 'no output has the secret')
      return { status, text: `${stdout}${stderr}` }
    }
    const adminUrl = () => `http://${String(server.startup.console)}`
    t.match(
      svcctl(
        ['alias', 'set', 'home', server.endpoint, accessKey, '--secret-key-stdin', '--admin-url', adminUrl()],
        `${secretKey}\n`,
      ),
      {
        status: 0,
      },
    )

    const add = ['admin', 'dns-provider', 'add', 'home', 'main', '--type', 'rfc2136', '--nameserver', named.server]
    const options = ['--tsig-key-name', named.key.name, '--token-stdin', '--ttl', '1', '--polling-interval', '100ms']
    t.match(svcctl([...add, ...options], `${named.key.secret}\n`), {
      status: 0,
      text: /The DNS provider main is stored \(rfc2136\)/,
    })
    t.match(svcctl(['admin', 'dns-provider', 'list', 'home']), { status: 0, text: /main\s+rfc2136/ })
    const test = (domain: string) => svcctl(['admin', 'dns-provider', 'test', 'home', 'main', domain])
    t.match(test('www.example.test'), {
      status: 0,
      text: /Published, seen and removed at _acme-challenge\.www\.example\.test/,
    })
    t.match(test('else.test'), { status: 1, text: /The value could not be published: .*refuses to answer/ })
    const wrong = [
      'admin',
      'dns-provider',
      'set',
      'home',
      'main',
      '--tsig-algorithm',
      'hmac-sha512',
      '--comment',
      'ours',
    ]
    t.match(svcctl(wrong), { status: 0 })
    t.match(test('www.example.test'), { status: 1, text: /BADKEY/ })
    t.match(svcctl(['admin', 'dns-provider', 'set', 'home', 'main', '--tsig-algorithm', 'hmac-sha256']), { status: 0 })
    t.match(svcctl(['admin', 'dns-provider', 'get', 'home', 'main']), { status: 0, text: /ours/ })

    // Nothing that is published is ever seen by this server: the test waits until the server is killed.
    const record = '_acme-challenge.killed.example.test'
    const other = await startNamed(t, { zones: { [zone]: [] } })
    await server.stop()
    await server.start({ SVC_ACME_DNS_NAMESERVERS: other.server })
    const admin = createAdminClient(server)
    const running = admin.call('POST', '/dns-providers/main/test', { domain: 'killed.example.test' }).catch(() => {})
    await until(async () => (await named.values(record)).length === 1)
    await server.kill()
    await running
    t.equal((await named.values(record)).length, 1, 'the value is there')
    await server.start({ SVC_ACME_DNS_NAMESERVERS: named.server })
    await until(async () => (await named.values(record)).length === 0)
    const removals = () =>
      server
        .log()
        .split('\n')
        .filter(line => line.includes('was removed') && line.includes(record))
    // The line is written when the name server has answered, which is after the value is gone.
    await until(async () => removals().length > 0)
    t.equal(removals().length, 1, 'the log says so')
    t.notOk(server.log().includes(named.key.secret), 'the log has no secret')

    t.match(
      svcctl(
        ['alias', 'set', 'home', server.endpoint, accessKey, '--secret-key-stdin', '--admin-url', adminUrl()],
        `${secretKey}\n`,
      ),
      {
        status: 0,
      },
    )
    t.match(svcctl(['admin', 'dns-provider', 'remove', 'home', 'main', '--yes']), { status: 0 })
    t.match(svcctl(['admin', 'dns-provider', 'get', 'home', 'main']), { status: 3, text: /no DNS provider/ })
  },
)
