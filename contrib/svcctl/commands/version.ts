import { defineCommand } from '../command.ts'
import manifest from '../package.json' with { type: 'json' }

export default defineCommand({
  name: 'version',
  summary: 'Shows the version of svcctl, and that of a server.',
  description: 'That of the server needs admin:ServerInfo.',
  arguments: [{ name: 'alias', summary: 'of the server', kind: 'alias', isOptional: true }],
  options: [],
  examples: ['svcctl version', 'svcctl version home --json'],
  async run({ connectAdmin, output }, [alias]) {
    const { version } = manifest
    const node = process.version.slice(1)
    const own = `svcctl ${version} (Node.js ${node})`
    if (alias === undefined) return output.result({ svcctl: { version, node } }, own)
    const client = await connectAdmin(alias)
    const { body } = await client.send({ operation: 'getServerInfo', method: 'GET', path: '/info' })
    const server = body as { readonly version: string; readonly commit: string; readonly buildDate: string }
    const { commit, buildDate } = server
    const record = { svcctl: { version, node }, server: { alias, version: server.version, commit, buildDate } }
    output.result(record, own, `svc ${server.version} (${commit}) at ${alias}`)
  },
})
