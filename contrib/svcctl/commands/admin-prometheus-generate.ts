import { defineCommand, parseSeconds } from '../command.ts'

interface Options {
  readonly expiry?: number
}

export default defineCommand<Options>({
  name: 'admin prometheus generate',
  summary: 'Prints a scrape configuration for Prometheus, with a token of yours in it.',
  description:
    'The token is stored nowhere: it ends with --expiry, with your right admin:Prometheus, or when your secret key changes. Without a ' +
    'name: node and bucket. cluster has what node has; where there are several nodes, take one of the two. Needs admin:Prometheus.',
  arguments: [
    { name: 'alias', summary: 'of the server', kind: 'alias' },
    {
      name: 'endpoint',
      summary: 'to be scraped',
      kind: 'text',
      choices: ['node', 'cluster', 'bucket'],
      isOptional: true,
      isVariadic: true,
    },
  ],
  options: [{ flags: '--expiry <duration>', summary: 'of the token; without it 365 days', parse: parseSeconds }],
  typed: {
    'body/expiresInSeconds': '--expiry (in seconds)',
    'body/targets': 'ENDPOINT',
  },
  examples: [
    'svcctl admin prometheus generate home > prometheus.yml',
    'svcctl admin prometheus generate home cluster bucket --expiry 30d',
  ],
  async run(context, [alias, ...targets], { expiry: expiresInSeconds }) {
    const client = await context.connectAdmin(alias!)
    const { body } = await client.send({
      operation: 'createPrometheusToken',
      method: 'POST',
      path: '/metrics/prometheus-token',
      body: { ...(targets.length > 0 && { targets: [...new Set(targets)] }), expiresInSeconds },
    })
    const answer = body as { readonly scrapeConfig: string }
    context.output.result({ ...answer }, ...answer.scrapeConfig.trimEnd().split('\n'))
  },
})
