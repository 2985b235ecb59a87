/** Percent-encoded patterns of an earlier release: they stay, and are told; nobody gives new ones. */
import { createFakeClock } from 'svc/testing'
import t from 'tap'
import { type ChecksOptions, createChecks, type Stored } from '../checking.ts'
import type { DistributionInput } from '../document.ts'
import { documentProblems } from '../document-problems.ts'
import { createSavingWarnings, type WarningsOptions } from '../saving-warnings.ts'

const checks = createChecks({
  certificates: { problems: () => [] },
  modes: () => new Map([['website', { problems: () => [] }]]),
  ports: { clock: createFakeClock(0) },
  normalizeKey: (key: string) => key,
} as unknown as ChecksOptions)

const inputOf = (pattern: string): DistributionInput =>
  ({
    id: 'site',
    mode: 'website',
    enabled: true,
    aliases: ['www.example.test'],
    origin: { bucket: 'pages', pathPrefix: '' },
    defaultBehavior: { access: 'public' },
    behaviors: [{ pathPattern: { type: 'prefix', pattern }, access: 'deny' }],
    errorPages: [],
    redirects: [],
    restrictions: {},
    tls: { certificate: 'none' },
    logging: { target: 'log' },
  }) as unknown as DistributionInput

t.test('one that stands there already may stay, another is refused', async t => {
  const before = { value: { ...inputOf('/a%20b/'), createdMs: 0 } } as unknown as Stored
  const disabled = checks.build({ ...inputOf('/a%20b/'), enabled: false }, before)
  t.match(disabled, { enabled: false, behaviors: [{ pathPattern: { pattern: '/a%20b/' } }] })
  t.same(documentProblems(disabled), [], 'nor does it keep an archive from being imported')
  const refused = { code: 'invalid_distribution', cause: [{ element: '/behaviors/0/pathPattern' }] }
  t.throws(() => checks.build(inputOf('/a%20b/'), undefined), refused)
  t.throws(() => checks.build(inputOf('/a%20c/'), before), refused)
})

t.test('it is told', async t => {
  const warningsOf = createSavingWarnings({
    objects: { listObjects: async () => ({ objects: [] }) },
    http: { listeners: () => [{ name: 'web' }] },
    rules: {},
  } as unknown as WarningsOptions)
  t.same(await warningsOf({ ...inputOf('/a%20b/'), createdMs: 0 } as never), [
    'The pattern of a behavior, "/a%20b/", is percent-encoded, but compared with decoded paths: write "/a b/". It may close nothing.',
  ])
})
