import { showPages } from '../admin/pages.ts'
import { type Certificate, nextOrderOf, stateOf } from '../certificate.ts'
import { defineCommand, parsePositive } from '../command.ts'

interface Options {
  readonly domain?: string
  readonly state?: string
  readonly limit?: number
}

export default defineCommand<Options>({
  name: 'dist cert list',
  summary: 'Lists certificates: uploaded ones, ordered ones, and the files of SVC_CERTS_DIR.',
  arguments: [{ name: 'alias', summary: 'of the server', kind: 'alias' }],
  options: [
    { flags: '--domain <name>', summary: 'those that are for this name' },
    {
      flags: '--state <state>',
      summary: 'pending, valid, expiring, expired or failed',
      choices: ['pending', 'valid', 'expiring', 'expired', 'failed'],
    },
    { flags: '--limit <count>', summary: 'end after so many (default: all)', parse: parsePositive },
  ],
  examples: ['svcctl dist cert list home', 'svcctl dist cert list home --state expiring'],
  async run(context, [alias], { domain, state, limit }) {
    const client = await context.connectAdmin(alias!)
    const query = Object.entries({ domain, state }).flatMap(([name, value]) => (value ? [[name, value] as const] : []))
    const request = { operation: 'listCertificates', method: 'GET', path: '/certificates', query }
    await showPages(context, client, request, { limit, columns, rowOf })
  },
})

const columns = [
  'id',
  'source',
  'state',
  'domains',
  'notAfter',
  'renews',
  'nextAttempt',
  'keyType',
  'usedBy',
  'comment',
]

const rowOf = (item: object) => {
  const certificate = item as Certificate
  return { ...certificate, state: stateOf(certificate), ...nextOrderOf(certificate) }
}
