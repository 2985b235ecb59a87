/** What the cache would do with a request: by which policy, each field with the level that it is from, and what the nodes have. */
import { Accordion, Code, Group, Stack, Text, Title } from '@mantine/core'
import type { Answer } from '../../api/operations.ts'
import { Facts } from '../../parts/facts.tsx'
import { formatBytes, formatCount, formatDuration } from '../../parts/format.ts'
import { type Column, ItemTable } from '../../parts/item-table.tsx'
import { State, Titled } from '../../parts/names.tsx'
import { cacheTexts } from '../../texts/cache.ts'
import { texts } from '../../texts/index.ts'
import { fieldsOf, sections, textOf, valueAt } from './fields.ts'

const words = cacheTexts.cacheInspect

export type Inspection = Answer<'inspectCache'>

const levelOf = (level: string): string => texts.cache.levels[level as 'cluster'] ?? level
const behaviorOf = (index: number): string =>
  index < 0 ? words.defaultBehavior : texts.distributions.behavior(index + 1)

export function Effective({ inspection }: { inspection: Inspection }) {
  const { bypass, reason, distribution, host, path, bucket, key, cacheKey, policy, nodes } = inspection
  return (
    <Stack aria-live="polite">
      <Group gap="xs">
        <State
          text={bypass ? words.wouldBypass(words.reasons[reason] ?? reason) : words.wouldCache}
          is={bypass ? 'poor' : 'good'}
        />
      </Group>
      <Facts
        facts={[
          [texts.cache.distribution, distribution],
          [words.domain, host],
          [cacheTexts.cacheStatistics.page, path],
          [words.behavior, behaviorOf(policy.behavior)],
          [words.object, `${bucket}/${key}`],
          // Its parts stand on lines of their own.
          [words.cacheKey, cacheKey.replaceAll('\n', ' '), 'id'],
          whetherOn(policy),
          [words.policy, words.from(policy.policyName, levelOf(policy.policyLevel))],
          [words.browsers, policy.cacheControl],
          [words.autoInvalidate, policy.autoInvalidate ? words.autoInvalidates : words.autoInvalidateOff],
        ]}
      />
      <Stack gap="xs">
        <Title order={2} size="h5">
          {words.nodes}
        </Title>
        <ItemTable label={words.nodes} items={nodes} columns={nodeColumns} idOf={({ node }) => node} />
      </Stack>
      <FieldOrigins policy={policy} />
    </Stack>
  )
}

/** Whether anything is cached, and which level says so. */
export const whetherOn = ({ enabled, enabledLevel }: Inspection['policy']) =>
  [words.enabled, words.from(enabled ? words.on : words.off, levelOf(enabledLevel))] as const

type Policy = Inspection['policy']

/** Closed: it is long, and asked for one field at a time. */
export function FieldOrigins({ policy }: { policy: Policy }) {
  return (
    <Accordion variant="contained" keepMounted={false}>
      <Accordion.Item value="fields">
        <Accordion.Control>{words.fields}</Accordion.Control>
        <Accordion.Panel>
          <ItemTable
            label={words.fields}
            items={originFields}
            columns={columnsOf(policy)}
            idOf={({ path }) => path}
            groupOf={({ section }) => cacheTexts.cachePolicies.sections[section]}
            isDense
            minWidth={420}
          />
        </Accordion.Panel>
      </Accordion.Item>
    </Accordion>
  )
}

const originFields = sections.flatMap(section => fieldsOf(section).map(([path, kind]) => ({ section, path, kind })))

function columnsOf({ policy, fields }: Policy): Column<(typeof originFields)[number]>[] {
  const originOf = (path: string) => (fields as Readonly<Record<string, string>>)[path] ?? 'default'
  return [
    { title: words.field, place: 'name', render: ({ path }) => cacheTexts.cachePolicies.fields[path] },
    {
      title: words.value,
      render: ({ path, kind }) => (
        <Code style={{ overflowWrap: 'anywhere' }}>{shown(textOf(kind, valueAt(policy, path)))}</Code>
      ),
    },
    {
      title: words.origin,
      render: ({ path }) => {
        const origin = originOf(path)
        return <State text={levelOf(origin)} is={origin === 'default' ? 'neutral' : 'good'} />
      },
    },
  ]
}

const booleans: Readonly<Record<string, string>> = { true: texts.cache.yes, false: texts.cache.no, '': words.nothing }
const shown = (text: string): string => booleans[text] ?? text

type Node = Inspection['nodes'][number]

const nodeColumns: Column<Node>[] = [
  {
    title: cacheTexts.cacheStatistics.node,
    render: ({ node, error, owner }) => (
      <Titled name={node} note={error || (owner ? words.owner : '')} isBad={error !== ''} />
    ),
  },
  {
    title: texts.common.state,
    render: ({ entry }) => (
      <State
        text={entry?.present === true ? words.present : words.absent}
        is={entry?.present === true ? (entry.stale ? 'poor' : 'good') : 'neutral'}
      />
    ),
  },
  { title: words.tier, render: ({ entry }) => entry?.tier ?? '' },
  { title: words.age, isNumber: true, render: ({ entry }) => (entry ? formatDuration(entry.ageSeconds) : '') },
  { title: words.expires, isNumber: true, render: ({ entry }) => (entry ? freshFor(entry.expiresInSeconds) : '') },
  { title: words.size, isNumber: true, render: ({ entry }) => (entry ? formatBytes(entry.sizeBytes) : '') },
  {
    title: words.forms,
    render: ({ entry }) => (
      <>
        {entry?.encodings.map(each => each || 'identity').join(', ')}
        {entry !== undefined && entry.blocks > 0 && (
          <Text size="xs" c="dimmed">
            {words.blocks}: {formatCount(entry.blocks)}
          </Text>
        )}
      </>
    ),
  },
]

const freshFor = (seconds: number): string =>
  seconds < 0 ? words.expired(formatDuration(-seconds)) : formatDuration(seconds)
