/** A question to the server, what it answers, and why: a form with a table below it. */
import { Button, Drawer, Stack, Table } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { texts } from '../texts/index.ts'
import { useBesideFields } from './beside-fields.ts'
import { ProblemAlert } from './failure.tsx'
import { useFocusBack } from './focus-back.ts'
import { focusable } from './item-table.tsx'

export interface QuestionProps {
  /** What the button says. */
  readonly submit: string
  readonly isAsking: boolean
  readonly error: unknown
  /** For what the browser refuses. */
  readonly setErrors?: (errors: Record<string, string>) => void
  readonly onAsk: (event: React.FormEvent<HTMLFormElement>) => void
  readonly fields: ReactNode
  /** The answer; absent until there is one. */
  readonly children: ReactNode
}

export function Question({ submit, isAsking, error, setErrors, onAsk, fields, children }: QuestionProps) {
  const { element, unsaid } = useBesideFields(error, setErrors)
  /** The answer is one to these values. */
  const [isCurrent, setCurrent] = useState(true)
  return (
    <form
      {...element}
      onChange={() => setCurrent(false)}
      onSubmit={event => {
        // A dialog around it has a form, too.
        event.stopPropagation()
        setCurrent(true)
        onAsk(event)
      }}
    >
      <Stack>
        {fields}
        <div>
          <Button type="submit" loading={isAsking}>
            {submit}
          </Button>
        </div>
        {unsaid !== null && <ProblemAlert error={unsaid} />}
        {isCurrent && children}
      </Stack>
    </form>
  )
}

export interface QuestionDrawerProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
}

export function QuestionDrawer({ title, onClose, children }: QuestionDrawerProps) {
  useFocusBack()
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="xl"
      title={title}
      closeButtonProps={{ 'aria-label': texts.common.close }}
    >
      {children}
    </Drawer>
  )
}

export interface ReasonsProps {
  readonly label: string
  readonly heads: readonly string[]
  /** Rows. */
  readonly children: ReactNode
}

export function Reasons({ label, heads, children }: ReasonsProps) {
  return (
    <Table.ScrollContainer minWidth={480} scrollAreaProps={focusable}>
      <Table aria-label={label}>
        <Table.Thead>
          <Table.Tr>
            {heads.map(head => (
              <Table.Th key={head}>{head}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
