import { defineCommand } from '../command.ts'
import { usageError } from '../errors.ts'
import { createFailures } from '../failures.ts'
import { encodeName } from '../s3/client.ts'

export default defineCommand({
  name: 'share revoke',
  summary: 'Revokes links: from the next request on they answer 403.',
  arguments: [
    { name: 'alias', summary: 'of the server', kind: 'alias' },
    { name: 'ids', summary: 'of links, as `svcctl share list` shows them', kind: 'text', isVariadic: true },
  ],
  options: [],
  examples: ['svcctl share revoke home 7f3a9c'],
  async run(context, [text, ...ids]) {
    const { alias, bucket } = context.remote(text!)
    if (bucket !== '') throw usageError(`${text}: name the alias alone, and the links behind it.`)
    const client = await context.connectAdmin(alias)
    const failures = createFailures(context.output)
    for (const id of ids) {
      try {
        await client.send({ operation: 'revokeShare', method: 'DELETE', path: `/shares/${encodeName(id)}` })
        context.output.done({ status: 'revoked', id }, `Revoked ${id}.`)
      } catch (error) {
        failures.add(error, { id })
      }
    }
    failures.end()
  },
})
