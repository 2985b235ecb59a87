import { setTimeout as sleep } from 'node:timers/promises'
import { defineCommand } from '../command.ts'
import { failure, usageError } from '../errors.ts'
import { encodeName } from '../s3/client.ts'
import { inTypedWords, withTypedPatterns } from '../typed-words.ts'

interface Options {
  readonly path?: readonly string[]
  readonly prefix?: readonly string[]
  readonly glob?: readonly string[]
  readonly regex?: readonly string[]
  readonly tag?: readonly string[]
  readonly domain?: string
  readonly all?: boolean
  readonly soft?: boolean
  readonly wait?: boolean
}

interface Invalidation {
  readonly id: string
  readonly state: string
  readonly removed: number
}

const askedEveryMs = 200
const words = new Map([
  ['body/paths', '--path'],
  ['body/tags', '--tag'],
  ['body/domain', '--domain'],
])

export default defineCommand<Options>({
  name: 'cache purge',
  summary: 'Purges cached answers: of one distribution, or with the alias alone of all.',
  description:
    'In force on the next request. Changes of objects need no purge. A path that ends with / has its index document with it. ' +
    'Needs admin:InvalidateCache.',
  arguments: [{ name: 'target', summary: 'ALIAS or ALIAS/ID', kind: 'target' }],
  options: [
    { flags: '--path <path>', summary: 'a path, or a URL; again for more', isRepeatable: true },
    { flags: '--prefix <prefix>', summary: 'what paths begin with', isRepeatable: true },
    { flags: '--glob <glob>', summary: '* without slashes, ** with them', isRepeatable: true },
    { flags: '--regex <regex>', summary: 'RE2, anywhere in the path', isRepeatable: true },
    { flags: '--tag <tag>', summary: 'of the metadata cache-tag', isRepeatable: true },
    { flags: '--domain <host>', summary: 'only of this host; alone: all of it' },
    { flags: '--all', summary: 'everything' },
    { flags: '--soft', summary: 'expires it: stale answers go on while it is read again' },
    { flags: '--wait', summary: 'until it has left the memory of every node' },
  ],
  examples: ['svcctl cache purge home/site --path /docs/ --wait', 'svcctl cache purge home --tag news'],
  async run(context, [text], { path, prefix = [], glob = [], regex = [], tag, domain, all, soft, wait = false }) {
    const [alias = '', id, ...more] = text!.replace(/\/$/, '').split('/')
    if (more.length > 0) throw usageError(`${text} is no ALIAS and no ALIAS/ID.`)
    if (!path && !prefix.length && !glob.length && !regex.length && !tag && !domain && !all) {
      throw usageError(
        `Which answers? --path, --prefix, --glob, --regex, --tag or --domain selects some, --all everything.`,
      )
    }
    const patterns = Object.entries({ prefix, glob, regex }).flatMap(([type, list]) =>
      list.map(pattern => ({ type, pattern })),
    )
    const body = { paths: path, tags: tag, domain, all, soft, ...(patterns.length > 0 && { patterns }) }
    const client = await context.connectAdmin(alias)
    const request = {
      operation: id === undefined ? 'createInvalidation' : 'createDistributionInvalidation',
      method: 'POST',
      path: id === undefined ? '/cache/invalidations' : `/distributions/${encodeName(id)}/invalidations`,
      body: Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined)),
    }
    const made = await client.send(request).catch(error => {
      throw inTypedWords(withTypedPatterns(error, patterns), words)
    })
    let invalidation = made.body as Invalidation
    while (wait && invalidation.state === 'in-progress') {
      await sleep(askedEveryMs)
      const asked = { operation: 'getInvalidation', method: 'GET', path: `/cache/invalidations/${invalidation.id}` }
      invalidation = (await client.send(asked)).body as Invalidation
    }
    if (invalidation.state === 'failed')
      throw failure('purge_failed', `The invalidation ${invalidation.id} has failed.`)
    const told = wait ? `Purged: ${invalidation.removed} removed (${invalidation.id}).` : `Purged (${invalidation.id}).`
    context.output.done({ ...invalidation }, told)
  },
})
