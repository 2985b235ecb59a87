/** Pages that svcctl has warmed: the first visitor's request is a hit, whichever thread answers it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findLastingPort } from 'svc/testing'
import t from 'tap'
import { svcctlProgram } from '../services/programs.ts'
import { run } from './clients.ts'
import { accessKey, secretKey, startServer } from './server.ts'

t.setTimeout(300_000)

t.test('warm, then the first visitor has a hit', async t => {
  const webPort = await findLastingPort()
  const server = await startServer({
    environment: {
      SVC_CONSOLE_ADDRESS: `127.0.0.1:${await findLastingPort()}`,
      SVC_WEB_ADDRESS: `127.0.0.1:${webPort}`,
    },
  })
  t.teardown(() => server.remove())
  const environment = { SVCCTL_CONFIG_DIR: join(server.folder, 'svcctl'), SVCCTL_SECRET_KEY: secretKey }
  const ctl = async (...args: string[]) => {
    const outcome = await run(process.execPath, [svcctlProgram, ...args], server, { environment })
    t.equal(outcome.code, 0, `svcctl ${args.join(' ')}`, { stderr: outcome.stderr })
    return outcome.stdout
  }
  const put = async (key: string, text: string) => {
    const file = join(server.folder, 'page')
    writeFileSync(file, text)
    await ctl('cp', file, `home/pages/${key}`)
  }
  await ctl('--admin-url', `http://${server.startup.console}`, 'alias', 'set', 'home', server.endpoint, accessKey)
  await ctl('mb', 'home/pages')
  await put('index.html', 'home')
  await put('large.bin', 'x'.repeat(200_000))
  await ctl('dist', 'create', 'home/site', '--bucket', 'pages', '--alias', 'www.example.test')
  t.match(await ctl('cache', 'warm', 'home/site', '--path', '/', '--path', '/large.bin', '--wait'), /Warmed: 2 of 2/)
  const ask = async (path: string) => {
    const url = `http://127.0.0.1:${webPort}${path}`
    const { stdout } = await run(
      'curl',
      ['-s', '-D', '-', '-o', '/dev/null', '-H', 'Host: www.example.test', url],
      server,
    )
    return /^x-cache: (\w+)/im.exec(stdout)?.[1]
  }
  // Each from a connection of its own, which any thread may take.
  for (let round = 0; round < 12; round++) {
    for (const path of ['/', '/large.bin']) t.equal(await ask(path), 'HIT', `${path}, visitor ${round + 1}`)
  }

  await t.test('what is written is warm again by itself', async t => {
    const file = join(server.folder, 'cache.json')
    writeFileSync(file, JSON.stringify({ warmOnWrite: ['*.html'] }))
    await ctl('cache', 'dist', 'set', 'home', 'site', file)
    await put('index.html', 'home, again')
    const deadlineMs = Date.now() + 30_000
    for (;;) {
      const inspected = JSON.parse(await ctl('--json', 'cache', 'inspect', 'home', 'http://www.example.test/'))
      if (inspected.nodes[0].entry?.sizeBytes === 'home, again'.length) {
        t.match(inspected, { key: 'index.html', nodes: [{ entry: { stale: false } }] })
        break
      }
      if (Date.now() > deadlineMs) throw new Error(JSON.stringify(inspected.nodes))
    }
  })
})
