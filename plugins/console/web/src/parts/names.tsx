/** Short lists of names: groups of a user, policies of a group. */
import { Badge, Group, Text } from '@mantine/core'
import type { ReactNode } from 'react'

export function Names({ names }: { names: readonly string[] }) {
  if (names.length === 0) return null
  return (
    <Group gap={4}>
      {names.map(name => (
        <Badge key={name} className="state name" title={name} variant="light" color="gray" tt="none">
          {name}
        </Badge>
      ))}
    </Group>
  )
}

/** A name, and below it in small letters what somebody has noted about it. */
export function Titled({ name, note, isBad = false }: { name: ReactNode; note: string; isBad?: boolean }) {
  return (
    <>
      {name}
      {note !== '' && (
        <Text size="xs" c={isBad ? 'red' : 'dimmed'}>
          {note}
        </Text>
      )}
    </>
  )
}

const colours = { good: 'teal', poor: 'orange', bad: 'red', neutral: 'gray' } as const

export function State({ text, is }: { text: string; is: keyof typeof colours }) {
  return (
    <Badge className="state" variant="light" color={colours[is]} tt="none">
      {text}
    </Badge>
  )
}
