import { openBucket, readRules } from '../access.ts'
import { defineCommand, parsePair } from '../command.ts'

interface Options {
  readonly rules?: string
  readonly action?: string
  readonly principal?: string
  readonly ip?: string
  readonly host?: string
  readonly method?: string
  readonly secure?: boolean
  readonly referer?: string
  readonly header?: readonly (readonly [name: string, value: string])[]
  readonly distribution?: string
  readonly time?: string
}

/** The server checks it. */
interface RulesFile {
  readonly rules?: unknown
}

interface TestedRule {
  readonly id: string
  readonly priority: number
  readonly effect: string
  readonly matched: boolean
  readonly mismatch?: string
  readonly condition?: string
  readonly captures: Readonly<Record<string, string>>
}

interface TestedKey {
  readonly key: string
  readonly allowed: boolean
  readonly reason: string
  readonly rules: readonly TestedRule[]
  readonly blockedPublic: readonly string[]
}

export default defineCommand<Options>({
  name: 'access test',
  summary:
    'Tests whether a caller may perform an action on keys of a bucket, and names the rule or policy that decides.',
  description:
    'No request is executed. Without --principal the caller is anonymous. The exit code is 0 whether it is allowed or denied: scripts read ' +
    '`allowed` of --json. With --rules the rules of a file are tested as if they were stored. Needs admin:ManageAccessRules on the bucket, and ' +
    'admin:SimulatePolicy to ask about others.',
  arguments: [
    { name: 'target', summary: 'ALIAS/bucket', kind: 'target' },
    {
      name: 'key',
      summary: 'of an object; of --action list a prefix',
      kind: 'text',
      isVariadic: true,
      isOptional: true,
    },
  ],
  options: [
    {
      flags: '--action <action>',
      summary: 'read (the default), list, write, delete, tag, or an action such as s3:GetObject',
    },
    { flags: '--rules <file>', summary: 'rules that are tested instead of the stored ones; - is standard input' },
    { flags: '--principal <access-key>', summary: 'the access key of the caller; the name of a user is one, too' },
    { flags: '--ip <address>', summary: 'the address of the caller (default: that of this command)' },
    { flags: '--host <host>', summary: 'the host of the request' },
    { flags: '--method <method>', summary: 'the HTTP method (default: the usual one of the action)' },
    { flags: '--secure', summary: 'over TLS' },
    { flags: '--no-secure', summary: 'without TLS', isHidden: true },
    { flags: '--referer <url>', summary: 'of the page' },
    {
      flags: '--header <name:value>',
      summary: 'of the request (again for more)',
      parse: parsePair(':'),
      isRepeatable: true,
    },
    { flags: '--distribution <id>', summary: 'through which it comes' },
    { flags: '--time <time>', summary: 'such as 2030-01-31T08:00:00Z; without it now', parse: parseTime },
  ],
  typed: {
    'body/keys': 'KEY',
    'body/action': '--action',
    'body/principal': '--principal',
    'body/ip': '--ip',
    'body/host': '--host',
    'body/method': '--method',
    'body/referer': '--referer',
    'body/headers': '--header',
    'body/distribution': '--distribution',
    'body/time': '--time',
  },
  examples: [
    'svcctl access test home/photos public/a.jpg secret/b.jpg',
    'svcctl access test home/photos public/a.jpg --rules rules.json',
    'svcctl access test home/photos home/ada/ --action list --principal ada --ip 192.0.2.7',
  ],
  async run(context, [text, ...keys], { header, rules, ...options }) {
    const { client, path, bucket } = await openBucket(context, text!)
    const draft = rules === undefined ? undefined : ((await readRules(context, rules, bucket)).body as RulesFile)
    const body = {
      ...options,
      ...(draft && { rules: draft.rules }),
      ...(keys.length > 0 && { keys }),
      ...(header && { headers: Object.fromEntries(header) }),
    }
    const answer = await client.send({
      operation: 'testAccessRules',
      method: 'POST',
      path: `${path}/access-rules/test`,
      body,
    })
    const { action, results } = answer.body as { readonly action: string; readonly results: readonly TestedKey[] }
    context.output.result({ ...(answer.body as object) }, ...results.flatMap(one => linesOf(action, one)))
  },
})

function parseTime(text: string): string {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) || Number.isNaN(Date.parse(text))) {
    throw new RangeError('is no time: write 2030-01-31T08:00:00Z')
  }
  return text
}

function linesOf(action: string, { key, allowed, reason, rules, blockedPublic }: TestedKey): readonly string[] {
  return [
    `${allowed ? 'allowed' : 'denied '}  ${action} ${key}: ${reason}`,
    ...rules.map(
      rule => `  ${rule.priority}  ${rule.effect} ${rule.id}: ${outcomeOf(rule, blockedPublic.includes(rule.id))}`,
    ),
  ]
}

function outcomeOf({ matched, mismatch, condition, captures }: TestedRule, isBlocked: boolean): string {
  const found = Object.entries(captures).map(([name, value]) => `${name}=${value}`)
  const behind = found.length === 0 ? '' : ` (${found.join(', ')})`
  if (matched) return `matches${behind}`
  if (isBlocked) return `public access is blocked${behind}`
  return `does not match: ${condition ?? mismatch}${behind}`
}
