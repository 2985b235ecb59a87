import { defineCommand } from '../command.ts'
import { type ExportFilter, exportDocuments, linesOf } from '../distributions/archive.ts'
import { documentKinds } from '../distributions/kinds.ts'

export default defineCommand<ExportFilter>({
  name: 'dist export',
  summary: 'Prints distributions, their caches, cache policies, cache settings and key groups as YAML.',
  description:
    'To be kept in git, compared by `dist diff` and brought back by `dist import`. Secrets are references to variables such as SVC_SECRET_SITE_EDGE_TOKEN; ' +
    'private keys are left out. Needs admin:ManageDistributions, and admin:ManageCache for what belongs to caches; what you may not manage is left out.',
  arguments: [{ name: 'alias', summary: 'of the server', kind: 'alias' }],
  options: [
    { flags: '--kind <kind>', summary: 'only these; again for more', choices: documentKinds, isRepeatable: true },
    { flags: '--id <name>', summary: 'only documents of this name; again for more', isRepeatable: true },
  ],
  examples: ['svcctl dist export home > site.yaml', 'svcctl dist export home --id site'],
  async run(context, [alias], filter) {
    const yaml = await exportDocuments(await context.connectAdmin(alias!), filter)
    context.output.result({ yaml }, ...linesOf(yaml))
  },
})
