import { defineCommand, parsePair } from '../command.ts'
import { connectTo, readDocument } from '../distributions/document.ts'
import { encodeName } from '../s3/client.ts'

interface Options {
  readonly method?: string
  readonly header?: readonly (readonly [string, string])[]
  readonly ip?: string
  readonly principal?: string
  readonly time?: string
  readonly draft?: string
}

interface Result {
  readonly status: number
  readonly decision: string
  readonly source: string
  readonly reason: string
  readonly rule: string
  readonly bucket: string
  readonly key: string
  readonly behavior: { readonly index: number; readonly access: string }
  readonly redirect?: { readonly location: string }
  readonly cachePolicy: string
  readonly responseHeaders: Readonly<Record<string, string>>
}

export default defineCommand<Options>({
  name: 'dist test',
  summary: 'Says how a request would be answered, and why. Nothing is sent.',
  arguments: [
    { name: 'target', summary: 'ALIAS/ID', kind: 'target' },
    { name: 'url', summary: 'absolute, or a path at the first name', kind: 'text' },
  ],
  options: [
    { flags: '--method <method>', summary: 'of the request (default GET)' },
    { flags: '--header <name:value>', summary: 'of the request; repeated', parse: parsePair(':'), isRepeatable: true },
    { flags: '--ip <address>', summary: 'of the client' },
    { flags: '--principal <key>', summary: 'the access key of the caller (default: anonymous)' },
    { flags: '--time <time>', summary: 'when it is asked, for example 2026-12-24T18:00:00Z' },
    {
      flags: '--draft <file>',
      summary: 'a document that is tested instead of the stored one; - reads it from the input',
    },
  ],
  typed: {
    'body/url': 'URL',
    'body/method': '--method',
    'body/ip': '--ip',
    'body/principal': '--principal',
    'body/time': '--time',
    'body/headers': '--header',
  },
  examples: [
    'svcctl dist test home/site /docs/',
    'svcctl dist test home/site / --draft site.json',
    'svcctl dist test home/site https://www.example.test/a --ip 192.0.2.1 --header X-Origin-Secret:…',
  ],
  async run(context, [text, url], { header = [], draft, ...options }) {
    const { client, id } = await connectTo(context, text!)
    const path = `/distributions/${encodeName(id)}/test`
    const tested = draft === undefined ? {} : { draft: await readDocument(context, draft, id) }
    const asked = { url, headers: Object.fromEntries(header), ...options, ...tested }
    const { body } = await client.send({ operation: 'testDistribution', method: 'POST', path, body: asked })
    const result = body as Result
    const { status, decision, source, reason, rule, bucket, key, behavior, redirect, responseHeaders, cachePolicy } =
      result
    const lines = [`${status}, ${decision} by ${source}${reason === '' ? '' : `: ${reason}`}`]
    if (rule !== '') lines.push(`the access rule "${rule}" denies it`)
    if (behavior.access !== '') {
      lines.push(
        `${behavior.index === -1 ? 'default behavior' : `behavior ${behavior.index}`}, access ${behavior.access}`,
      )
    }
    if (key !== '') lines.push(`object ${bucket}/${key}`)
    if (cachePolicy !== '')
      lines.push(cachePolicy === 'disabled' ? 'not cached' : `cached by the policy ${cachePolicy}`)
    if (redirect !== undefined) lines.push(`to ${redirect.location}`)
    for (const [name, value] of Object.entries(responseHeaders)) lines.push(`  ${name}: ${value}`)
    context.output.result({ ...result }, ...lines)
  },
})
