/** A rule in words. */
import { Group, Paper, Text } from '@mantine/core'
import { IconPencil, IconTrash } from '@tabler/icons-react'
import { Name } from '../../parts/name.tsx'
import { State } from '../../parts/names.tsx'
import { Tool } from '../../parts/tool.tsx'
import { accessRuleTexts } from '../../texts/access-rules.ts'
import type { Rule } from './access.tsx'

const words = accessRuleTexts

export interface RuleCardProps {
  readonly rule: Rule
  /** Absent where it may not be changed. */
  readonly onEdit?: () => void
  readonly onRemove?: () => void
}

export function RuleCard({ rule, onEdit, onRemove }: RuleCardProps) {
  const { id, effect, priority, principals, actions, match, description = '' } = rule
  const who = principals.map(name => (name === '*' ? words.everybody : name)).join(', ')
  const keys = match === undefined ? words.allKeys : words.keysThat(words.matchTypes[match.type], match.pattern)
  const conditions = conditionsOf(rule)
  return (
    <Paper withBorder p="sm">
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <div style={{ minWidth: 0, overflowWrap: 'anywhere' }}>
          <Group gap="xs">
            <State text={words.effects[effect]} is={effect === 'allow' ? 'good' : 'bad'} />
            <Text fw={600} style={{ overflowWrap: 'anywhere' }}>
              {id}
            </Text>
            <Text size="xs" c="dimmed" className="numbers">
              {words.numbered(priority)}
            </Text>
          </Group>
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {words.words(words.verbs[effect], who, actions.join(', '), keys)}
          </Text>
          {conditions !== '' && (
            <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
              {words.onlyIf(conditions)}
            </Text>
          )}
          {description !== '' && (
            <Text size="xs" c="dimmed">
              <Name>{description}</Name>
            </Text>
          )}
        </div>
        <Group gap={2} wrap="nowrap">
          {onEdit !== undefined && <Tool label={words.edit(id)} icon={IconPencil} onClick={onEdit} />}
          {onRemove !== undefined && <Tool label={words.remove(id)} icon={IconTrash} onClick={onRemove} />}
        </Group>
      </Group>
    </Paper>
  )
}

function conditionsOf({ conditions = {} }: Rule): string {
  const { sourceIp, notSourceIp, referer, host, methods, secureTransport, timeWindow, headers, captureEquals } =
    conditions
  const list = (label: string, values: readonly string[] | undefined) => values && `${label} ${values.join(', ')}`
  const map = (label: string, values: object | undefined) =>
    values &&
    `${label} ${Object.entries(values)
      .map(([name, value]) => `${name}=${value}`)
      .join(', ')}`
  return [
    list(words.sourceIp, sourceIp),
    list(words.notSourceIp, notSourceIp),
    list(words.referer, referer),
    list(words.host, host),
    list(words.methods, methods),
    secureTransport === undefined ? undefined : words.secures[secureTransport ? 'true' : 'false'],
    timeWindow && `${timeWindow.from ?? '…'} – ${timeWindow.to ?? '…'}`,
    map(words.headers, headers),
    map(words.captures, captureEquals),
  ]
    .filter(text => text !== undefined)
    .join('; ')
}
