/** `svc prometheus generate`: a scrape configuration with a token in it. */
import { parseArgs } from 'node:util'
import { defineCliCommand, parseDuration } from 'svc/kernel'
import type {} from './api.ts'
import { expiryMsMax, scrapeConfig } from './scrape-config.ts'
import { createScrapeToken } from './scrape-token.ts'

export default defineCliCommand({
  name: 'prometheus',
  summary: 'Prints a Prometheus scrape configuration with a bearer token.',
  usage: 'generate [--expiry DURATION] [--target HOST:PORT] [--tls]',
  examples: [
    'svc prometheus generate > prometheus.yml',
    'svc prometheus generate --expiry 30d --target storage.example.com:9000 --tls',
  ],
  uses: ['iam', 'ports', 'scraping'],
  async run(argv, io, { iam, ports: { clock }, scraping: { authType } }) {
    const { values, positionals } = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        expiry: { type: 'string', default: '365d' },
        target: { type: 'string', default: 'localhost:9000' },
        tls: { type: 'boolean', default: false },
      },
    })
    if (positionals.length !== 1 || positionals[0] !== 'generate') {
      io.stderr.write('svc prometheus: the only thing to do is "generate"\n')
      return 2
    }
    const expiryMs = readExpiry(values.expiry)
    if (expiryMs === undefined) {
      io.stderr.write('svc prometheus: --expiry must be a duration between 1s and 3650d, such as 365d\n')
      return 2
    }
    if (!/^[\w.:[\]-]+$/.test(values.target)) {
      io.stderr.write('svc prometheus: --target must be host:port\n')
      return 2
    }
    const { accessKey } = iam.owner
    const key = await iam.verificationKey(accessKey)
    const now = clock.now()
    const token =
      authType === 'public' || key === undefined
        ? undefined
        : await createScrapeToken(accessKey, key, now, now + expiryMs)
    io.stdout.write(scrapeConfig({ target: values.target, isTls: values.tls, token, scopes: ['node', 'bucket'] }))
    return 0
  },
})

function readExpiry(text: string): number | undefined {
  try {
    const expiryMs = parseDuration(text)
    return expiryMs >= 1000 && expiryMs <= expiryMsMax ? expiryMs : undefined
  } catch {
    return undefined
  }
}
