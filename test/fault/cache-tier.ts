/** What the tests of the tier of the cache on disk have in common. */
import { readdirSync } from 'node:fs'
import { type Agent, request } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { createAdminClient } from '../wire/admin.ts'
import type { TestServer } from '../wire/server.ts'

export const Bucket = 'pages'
export const Host = 'www.example.test'

export interface Answer {
  readonly status: number
  readonly body: Buffer
  readonly result: string
}

export function get(agent: Agent, port: number, key: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ agent, host: '127.0.0.1', port, path: `/${key}`, headers: { Host } }, answer => {
      const result = String(answer.headers['x-cache'])
      buffer(answer).then(body => resolve({ status: answer.statusCode as number, body, result }), reject)
    })
    sent.on('error', reject).end()
  })
}

/** Absolute paths of all records. */
export function recordFiles(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter(name => /\/[0-9a-f]{64}$/.test(name))
    .map(name => join(dir, name))
}

export async function tierStats(server: TestServer): Promise<{ readonly entries: number }> {
  const { nodes } = (await createAdminClient(server).call('GET', '/cache/stats')) as never as {
    nodes: { tiers: { tier: string; entries: number }[] }[]
  }
  const [found] = nodes[0]?.tiers ?? []
  if (found?.tier !== 'disk') throw new Error('there is no tier on disk')
  return found
}
