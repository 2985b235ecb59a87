import { defineCommand } from '../command.ts'

interface Options {
  readonly listener?: string
}

interface Resolution {
  readonly step: string
  readonly match: string
  readonly reason: string
  readonly status: number
  readonly distribution?: string
  readonly bucket?: string
  readonly behavior?: { readonly index: number; readonly access: string }
  readonly certificate?: { readonly id: string; readonly state: string; readonly notAfter: string }
}

export default defineCommand<Options>({
  name: 'dist resolve',
  summary: 'Shows which distribution or endpoint answers a host, and why.',
  arguments: [
    { name: 'alias', summary: 'of the server', kind: 'alias' },
    { name: 'host', summary: 'HOST or HOST/path', kind: 'text' },
  ],
  options: [
    {
      flags: '--listener <listener>',
      summary: 'where it is asked (default web)',
      choices: ['s3', 'web', 'web-tls', 'console'],
    },
  ],
  examples: [
    'svcctl dist resolve home www.example.test',
    'svcctl dist resolve home www.example.test/app/ --listener s3',
  ],
  async run(context, [alias, place], { listener = 'web' }) {
    const slash = place!.indexOf('/')
    const [host, path] = slash === -1 ? [place!, '/'] : [place!.slice(0, slash), place!.slice(slash)]
    const client = await context.connectAdmin(alias!)
    const query = Object.entries({ host, path, listener })
    const { body } = await client.send({ operation: 'resolveRoute', method: 'GET', path: '/routing/resolve', query })
    const found = body as Resolution
    const { distribution, bucket, behavior, certificate, status } = found
    const lines = [`${found.match} (step ${found.step}): ${found.reason}`]
    if (distribution !== undefined) lines.push(`distribution ${distribution} of the bucket ${bucket}`)
    if (behavior !== undefined) {
      lines.push(
        `${behavior.index === -1 ? 'default behavior' : `behavior ${behavior.index}`}, access ${behavior.access}`,
      )
    }
    if (certificate !== undefined) {
      lines.push(`certificate ${certificate.id}, ${certificate.state}, until ${certificate.notAfter}`)
    }
    if (status !== 0) lines.push(`answered ${status}`)
    context.output.result({ ...found }, ...lines)
  },
})
