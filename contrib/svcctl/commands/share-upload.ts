import { defineCommand, parseSeconds, parseSize } from '../command.ts'
import { usageError } from '../errors.ts'
import { isoTime } from '../formatting.ts'
import { formatRemote, requireBucket } from '../target.ts'

interface Options {
  readonly expire: number
  readonly maxSize?: number
  readonly contentType?: string
}

const expireSecondsDefault = 3600
const expireSecondsMax = 7 * 86_400
const objectBytesMax = 5 * 1024 ** 3

export default defineCommand<Options>({
  name: 'share upload',
  summary: 'Makes a form for uploads without credentials.',
  description:
    'Prints a curl command; with --json the fields for a form of your own. A target that ends at a slash takes files of any name, ' +
    'another takes that key alone. It cannot be revoked before it expires.',
  arguments: [{ name: 'target', summary: 'ALIAS/bucket/prefix/ or ALIAS/bucket/key', kind: 'target' }],
  options: [
    {
      flags: '--expire <duration>',
      summary: 'how long it is good, 7d at most (default 1h)',
      parse: parseSeconds,
      default: expireSecondsDefault,
    },
    { flags: '--max-size <size>', summary: 'of a file, for example 100MiB', parse: parseSize },
    { flags: '--content-type <type>', summary: 'that the file must be sent with' },
  ],
  examples: ['svcctl share upload --expire 1h --max-size 100MiB home/inbox/'],
  async run(context, [text], { expire, maxSize, contentType }) {
    const target = context.remote(text!)
    const bucket = requireBucket(target)
    if (expire > expireSecondsMax) throw usageError('A form is good for 7 days at most.')
    const client = await context.connect(target.alias)
    const isFolder = target.key === '' || target.key.endsWith('/')
    const expiration = isoTime(Date.now() + expire * 1000)
    const signing = client.signForm(bucket, '').fields
    const conditions = [
      { bucket },
      isFolder ? ['starts-with', '$key', target.key] : { key: target.key },
      ...(maxSize === undefined ? [] : [['content-length-range', 0, Math.min(maxSize, objectBytesMax)]]),
      ...(contentType === undefined ? [] : [{ 'content-type': contentType }]),
      ...['x-amz-algorithm', 'x-amz-credential', 'x-amz-date'].map(name => ({ [name]: signing[name] })),
    ]
    const signed = client.signForm(bucket, JSON.stringify({ expiration, conditions }))
    if (signed.fields['x-amz-date'] !== signing['x-amz-date'])
      return this.run(context, [text!], { expire, maxSize, contentType })
    const key = isFolder ? `${target.key}\${filename}` : target.key
    const fields = {
      key,
      ...(contentType === undefined ? undefined : { 'content-type': contentType }),
      ...signed.fields,
    }
    const form = Object.entries(fields).map(([name, value]) => `-F ${quote(`${name}=${value}`)}`)
    context.output.result(
      { target: formatRemote(target), url: signed.url, fields, expires: expiration },
      `curl ${form.join(' ')} -F file=@FILE ${quote(signed.url)}`,
    )
  },
})

const quote = (text: string): string => (/^[\w./:=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)
