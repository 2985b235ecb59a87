/** `svc prometheus generate`: a scrape configuration with a token in it. */
import { parseArgs } from 'node:util'
import { type CliCommand, parseDuration } from 'svc/kernel'
import type { IamService } from 'svc/plugins/iam/api'
import { createScrapeToken } from './scrape-token.ts'

const dayMs = 86_400_000
const expiryMsMax = 3650 * dayMs

export function createPrometheusCommand(iam: IamService, authType: 'jwt' | 'public', nowMs: () => number): CliCommand {
  return {
    summary: 'Prints a Prometheus scrape configuration with a bearer token.',
    usage: 'generate [--expiry DURATION] [--target HOST:PORT] [--tls]',
    examples: [
      'svc prometheus generate > prometheus.yml',
      'svc prometheus generate --expiry 30d --target storage.example.com:9000 --tls',
    ],
    async run(argv, io) {
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
      const now = nowMs()
      const token =
        authType === 'public' || key === undefined
          ? undefined
          : await createScrapeToken(accessKey, key, now, now + expiryMs)
      io.stdout.write(scrapeConfig(values.target, values.tls, token))
      return 0
    },
  }
}

function readExpiry(text: string): number | undefined {
  try {
    const expiryMs = parseDuration(text)
    return expiryMs >= 1000 && expiryMs <= expiryMsMax ? expiryMs : undefined
  } catch {
    return undefined
  }
}

function scrapeConfig(target: string, tls: boolean, token: string | undefined): string {
  const lines = [
    'scrape_configs:',
    '  - job_name: svc-node',
    '    metrics_path: /svc/metrics/v1/node',
    `    scheme: ${tls ? 'https' : 'http'}`,
    ...(token === undefined ? [] : ['    authorization:', `      credentials: ${token}`]),
    '    static_configs:',
    `      - targets: ['${target}']`,
  ]
  return `${lines.join('\n')}\n`
}
