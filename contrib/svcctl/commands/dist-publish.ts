import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { defineCommand } from '../command.ts'
import type { Context } from '../context.ts'
import { addressOf, listenerNote } from '../distributions/address.ts'
import { cacheControlOf } from '../distributions/cache-headers.ts'
import {
  type DistributionDocument,
  type DistributionPlace,
  findDistribution,
  ownerOf,
  putDistribution,
} from '../distributions/document.ts'
import { AdminError, S3Error, usageError } from '../errors.ts'
import { createFailures } from '../failures.ts'
import type { S3Client } from '../s3/client.ts'
import { folderPrefix, type RemoteTarget } from '../target.ts'
import { walkFiles } from '../transfer/local-tree.ts'
import { concurrencyDefault, createTransfers } from '../transfer/transfers.ts'
import { workThrough } from '../transfer/work.ts'

interface Options {
  readonly domain?: readonly string[]
  readonly bucket?: string
  readonly prefix?: string
  readonly spa?: boolean
  readonly id?: string
}

export default defineCommand<Options>({
  name: 'dist publish',
  summary: 'Puts a folder on a domain: uploads it, creates or updates the distribution, and prints the address.',
  description:
    'Files get the media type of their name, and Cache-Control: pages no-cache, so that browsers ask each time; files with a hash in ' +
    'their name, such as app.3f2a9c1b.js, max-age=31536000, a year; others max-age=3600. So for an hour visitors can see an old style.css ' +
    'with a new page, unless its name has a hash. The bucket is made where it is missing, and may stay private. Hidden files and folders are left out, but for .well-known. What is in the bucket and not in the folder stays. An existing ' +
    'distribution keeps its settings and its bucket, and gets the domains that it lacks; --id names one that has the domain already.',
  arguments: [
    { name: 'folder', summary: 'the folder to publish', kind: 'path' },
    {
      name: 'alias',
      summary: 'of the server; may be left out where there is only one',
      kind: 'alias',
      isOptional: true,
    },
  ],
  options: [
    { flags: '--domain <name>', summary: 'where it is published; repeated', isRepeatable: true },
    { flags: '--bucket <bucket>', summary: 'default: that of the distribution, otherwise the first domain' },
    { flags: '--prefix <prefix>', summary: 'in the bucket; ends in a slash (default: that of the distribution, otherwise none)' },
    { flags: '--spa', summary: 'serve index.html with 200 for missing keys' },
    { flags: '--id <id>', summary: 'of the distribution (default: the first domain)' },
  ],
  typed: {
    'body/id': '--id',
    'body/aliases': '--domain',
    'body/origin/bucket': '--bucket',
    'body/origin/pathPrefix': '--prefix',
  },
  examples: [
    'svcctl dist publish ./site --domain www.example.test',
    'svcctl dist publish ./app home --domain app.example.test --spa',
  ],
  async run(context, [folder, given], { domain = [], bucket, prefix, spa, id }) {
    const [first] = domain
    if (first === undefined) throw usageError('--domain is needed: where the folder is published.')
    for (const each of domain) {
      if (/[:/\s]/.test(each))
        throw usageError(`--domain ${each}: a name alone, such as www.example.test, without scheme, port and path.`)
    }
    const path = context.path(folder!)
    if (!(await stat(path)).isDirectory()) throw usageError(`${folder} is no folder.`)
    const alias = given ?? (await onlyAlias(context))
    const name = first.replace(/^\*\./, '')
    const place = { client: await context.connectAdmin(alias), alias, id: id ?? name }
    const origin = (await findDistribution(place))?.origin ?? { bucket: name }
    const key = folderPrefix(prefix ?? (bucket === undefined ? origin.pathPrefix : undefined) ?? '')
    const target: RemoteTarget = { kind: 'remote', alias, bucket: bucket ?? origin.bucket, key }
    const client = await context.connect(alias)
    const isMissing = await lacksBucket(client, target)
    await rehearse(place, target, { domain, spa }, isMissing)
    const files = await filesOf(context, path)
    if (isMissing) await client.send({ operation: 'CreateBucket', method: 'PUT', bucket: target.bucket })
    const { count, hasErrorPage } = await uploadAll(context, files, target)
    const { isNew, stored } = await publish(place, target, { domain, spa })
    const warnings = stored.warnings ?? []
    const { address, note } = await addressOf(place, stored, domain.find(each => !each.startsWith('*.')) ?? first)
    const record = { status: isNew ? 'published' : 'updated', distribution: place.id, files: count, address, warnings }
    const answers = warnings.length === 0 && stored.enabled
    const are = answers ? 'are' : 'will be'
    context.output.result(record, `${count} files of ${basename(path)} ${are} on ${address}`)
    for (const warning of warnings) context.output.note(warning.replaceAll('ALIAS', alias))
    if (hasErrorPage && !usesErrorPage(stored)) context.output.note(unusedErrorPage(`${alias}/${place.id}`))
    if (note !== undefined) context.output.note(note)
    if (!stored.enabled) {
      context.output.note(
        `The distribution ${place.id} is disabled: its names answer 403 until \`svcctl dist enable ${alias}/${place.id}\`.`,
      )
    }
    if (!answers) return
    context.output.note(await listenerNote(place.client, address))
  },
})

const errorPageName = '404.html'

const usesErrorPage = ({ errorPages = [], defaultBehavior }: DistributionDocument): boolean =>
  errorPages.some(({ status }) => status === 404) || defaultBehavior?.spaFallback !== undefined

const unusedErrorPage = (text: string): string =>
  `${errorPageName} is not used yet: add "errorPages": [{"status": 404, "path": "/${errorPageName}"}] to the document of ` +
  `\`svcctl dist get ${text}\`, and give it to \`svcctl dist set\`.`

async function onlyAlias({ aliases }: Context): Promise<string> {
  const names = [...(await aliases.list()).keys()]
  if (names.length === 1) return names[0]!
  throw usageError(
    names.length === 0
      ? 'No server is known: `svcctl alias set` adds one.'
      : `Which server? Name one of ${names.join(', ')} behind the folder.`,
  )
}

async function lacksBucket(client: S3Client, { bucket }: RemoteTarget): Promise<boolean> {
  try {
    await client.send({ operation: 'HeadBucket', method: 'HEAD', bucket })
    return false
  } catch (error) {
    if (!(error instanceof S3Error) || error.status !== 404) throw error
    return true
  }
}

/** Files such as `.env` and `.git/config` are not for visitors. `.well-known` is. */
const isHidden = (key: string): boolean => key.split('/').some(part => part.startsWith('.') && part !== '.well-known')

interface Files {
  readonly rest: { readonly key: string; readonly path: string }[]
  readonly pages: Files['rest']
}

/** Finds the files to upload, before anything is created. */
async function filesOf({ output }: Context, path: string): Promise<Files> {
  const files: Files = { rest: [], pages: [] }
  for await (const file of walkFiles(path, skipped => output.note(`${skipped.path} ${skipped.reason}: left out.`))) {
    if (isHidden(file.key)) {
      output.note(`${file.key} is hidden: left out.`)
      continue
    }
    files[/\.html?$/i.test(file.key) ? 'pages' : 'rest'].push(file)
  }
  if (files.rest.length + files.pages.length === 0) {
    throw usageError(`${path} has no files to publish. Nothing was made or changed.`)
  }
  return files
}

/** Pages last: visitors meanwhile get old pages with old files, or new pages with new ones. */
async function uploadAll(context: Context, files: Files, target: RemoteTarget) {
  const { output } = context
  const client = await context.connect(target.alias)
  const failures = createFailures(output)
  context.startProgress()
  let count = 0
  for (const group of [files.rest, files.pages]) {
    await workThrough(group, concurrencyDefault, async file => {
      const attr = [['Cache-Control', cacheControlOf(file.key)]] as const
      const transfers = createTransfers(context, { concurrency: concurrencyDefault, attr })
      const key = target.key + file.key
      try {
        await transfers.upload(file.path, { client, bucket: target.bucket, key })
        count++
        output.progress.addFile()
      } catch (error) {
        failures.add(error, { source: file.path, target: key })
      }
    })
    // Pages that name files which are not there would be worse than the old ones.
    failures.end()
  }
  output.progress.stop()
  return { count, hasErrorPage: files.pages.some(({ key }) => key === errorPageName) }
}

/** Refuses what the server would refuse in the end, such as a domain of another distribution, before anything is made or uploaded. */
async function rehearse(place: DistributionPlace, target: RemoteTarget, settings: Settings, isMissing: boolean) {
  try {
    await publish(place, target, settings, true)
  } catch (error) {
    if (!(error instanceof AdminError)) throw error
    if (error.code === 'alias_conflict') throw await withOwner(place, error, settings.domain)
    if (!isMissing) throw error
    // The bucket of the pages is made later; that of a log is not.
    const others = error.problems.filter(({ place }) => place !== '/origin/bucket')
    if (others.length > 0) throw error.with(others)
    if (error.code !== 'bucket_not_found') throw error
  }
}

/** Adds to the error the option that publishes into the distribution that has one of the domains. */
async function withOwner({ client, id }: DistributionPlace, error: AdminError, domains: readonly string[]) {
  for (const domain of domains) {
    const owner = await ownerOf(client, domain)
    if (owner === undefined || owner === id || !error.message.startsWith(`${domain} `)) continue
    return error.inWords(`${error.message} --id ${owner} publishes into that one.`, [])
  }
  return error
}

interface Settings {
  readonly domain: readonly string[]
  readonly spa: boolean | undefined
}

async function publish(
  place: DistributionPlace,
  { bucket, key }: RemoteTarget,
  { domain, spa }: Settings,
  dryRun = false,
): Promise<{ readonly isNew: boolean; readonly stored: DistributionDocument }> {
  const before = await findDistribution(place)
  const behavior = { indexDocument: 'index.html', ...(spa ? { spaFallback: 'index.html' } : {}) }
  const document =
    before === undefined
      ? { id: place.id, aliases: domain, origin: { bucket, pathPrefix: key }, defaultBehavior: behavior }
      : {
          ...before,
          aliases: [...new Set([...before.aliases, ...domain])],
          origin: { ...before.origin, bucket, pathPrefix: key },
          defaultBehavior: { ...behavior, ...before.defaultBehavior },
        }
  const stored = await putDistribution(place, document, { ifMatch: before?.etag, dryRun })
  return { isNew: before === undefined, stored }
}
