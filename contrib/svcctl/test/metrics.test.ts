/** Metrics in the terminal, and what Prometheus needs to scrape them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { rootPassword, rootUser, startServer } from './server.ts'
import { createSession } from './session.ts'

async function start(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'svcctl-metrics-'))
  const server = await startServer()
  t.teardown(async () => {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const session = createSession(folder)
  const env = { SVCCTL_SECRET_KEY: rootPassword }
  const args = ['--admin-url', server.adminUrl, 'alias', 'set', 'home', server.endpoint, rootUser]
  const { code, stderr } = await session.run(args, { env })
  t.equal(code, 0, stderr)
  return { server, session }
}

t.test('admin prometheus generate prints a configuration that scrapes', async t => {
  const { server, session } = await start(t)
  const printed = await session.run(['admin', 'prometheus', 'generate', 'home', 'cluster', 'bucket', '--expiry', '1h'])
  t.equal(printed.code, 0, printed.stderr)
  t.match(printed.stdout, /^scrape_configs:\n {2}- job_name: svc-cluster\n/)
  t.notMatch(printed.stdout, /svc-node/)
  const token = /credentials: (\S+)/.exec(printed.stdout)![1]
  for (const scope of ['cluster', 'bucket']) {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await fetch(`${server.endpoint}/svc/metrics/v1/${scope}`, { headers })
    t.match(await answer.text(), /svc_/, scope)
    t.equal(answer.status, 200, scope)
  }
  const { records } = await session.run(['--json', 'admin', 'prometheus', 'generate', 'home'])
  t.match(records, [{ token: String, expiresAt: String, scrapeConfig: /svc-node.*svc-bucket/s }])
  t.not((await session.run(['admin', 'prometheus', 'generate', 'home', 'disk'])).code, 0)
})
