import { defineCommand } from '../command.ts'
import { failure } from '../errors.ts'
import { encodeName } from '../s3/client.ts'
import { parseDuration } from '../units.ts'

interface Outcome {
  readonly ok: boolean
  readonly record: string
  readonly step: string
  readonly error: string
  readonly durationMs: number
}

/** Time for publishing and removing, in addition to the propagation. */
const changesMs = 400_000

const steps: Readonly<Record<string, string>> = {
  present: 'The value could not be published',
  propagation: 'The value was published, and did not arrive at every server in time',
  cleanup: 'The value arrived, and could not be removed',
}

export default defineCommand({
  name: 'admin dns-provider test',
  summary: 'Publishes a random value for a domain, waits until every server of the zone has it, and removes it.',
  description:
    'Nothing but the TXT record _acme-challenge of the domain is touched, and other values there stay. It takes up to the propagation ' +
    'timeout of the provider. Fails with the name of the step that failed. Needs admin:ManageCertificates.',
  arguments: [
    { name: 'alias', summary: 'of the server', kind: 'alias' },
    { name: 'name', summary: 'of the provider', kind: 'text' },
    { name: 'domain', summary: 'that it answers for', kind: 'text' },
  ],
  options: [],
  examples: ['svcctl admin dns-provider test home main www.example.com'],
  async run(context, [alias, name, domain]) {
    const { output } = context
    const path = `/dns-providers/${encodeName(name!)}`
    const first = await context.connectAdmin(alias!)
    const { body } = await first.send({ operation: 'getDnsProvider', method: 'GET', path })
    const { propagationTimeout } = body as { readonly propagationTimeout: string }
    output.note(`Publishing a value for ${domain}; servers of the zone have ${propagationTimeout} to show it.`)
    const client = await context.connectAdmin(alias!, {
      answersWithinMs: parseDuration(propagationTimeout) + changesMs,
    })
    const answer = await client.send({
      operation: 'testDnsProvider',
      method: 'POST',
      path: `${path}/test`,
      body: { domain },
    })
    const outcome = answer.body as Outcome
    const { ok, record, step, error, durationMs } = outcome
    const seconds = (durationMs / 1000).toFixed(1)
    const line = ok ? `Published, seen and removed at ${record}, in ${seconds} s.` : `${record}: ${step} failed.`
    output.result({ ...outcome }, line)
    if (!ok) throw failure('not_done', `${steps[step] ?? 'It failed'}: ${error}`)
  },
})
