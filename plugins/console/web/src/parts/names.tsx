/** Short lists of names: groups of a user, policies of a group. */
import { Badge, Group, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { texts } from '../texts/index.ts'
import { Name, named } from './name.tsx'
import { shownText } from './shown-text.ts'

/** `isToldEmpty`: that there is none says much, also on a phone, which leaves empty cells out. */
export function Names({ names, isToldEmpty = false }: { names: readonly string[]; isToldEmpty?: boolean }) {
  if (names.length === 0) return isToldEmpty ? texts.common.none : null
  return (
    <Group gap={4}>
      {names.map(name => (
        <Badge key={name} className="state name" title={shownText(name)} variant="light" color="gray" tt="none">
          <Name>{name}</Name>
        </Badge>
      ))}
    </Group>
  )
}

/** A name, and below it in small letters what somebody has noted about it. */
export function Titled({ name, note, isBad = false }: { name: ReactNode; note: string; isBad?: boolean }) {
  return (
    <div className="titled">
      {named(name)}
      {note !== '' && (
        <Text size="xs" c={isBad ? 'red' : 'dimmed'}>
          <Name>{note}</Name>
        </Text>
      )}
    </div>
  )
}

const colours = { good: 'teal', poor: 'orange', bad: 'red', neutral: 'gray' } as const

export function State({ text, is }: { text: string; is: keyof typeof colours }) {
  return (
    <Badge className="state" variant="light" color={colours[is]} tt="none">
      <Name>{text}</Name>
    </Badge>
  )
}
