/** Filters of a list; on a phone behind a button that says how many are set. */
import { Button } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconFilter } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { texts } from '../texts/index.ts'

export interface FiltersProps {
  /** How many differ from what the page begins with. */
  readonly set: number
  readonly children: ReactNode
}

export function Filters({ set, children }: FiltersProps) {
  const [isOpen, { toggle }] = useDisclosure()
  return (
    <div className="filters" {...(isOpen && { 'data-open': true })}>
      <Button
        className="filters-button"
        variant="default"
        leftSection={<IconFilter size={16} aria-hidden />}
        aria-expanded={isOpen}
        onClick={toggle}
      >
        {texts.common.filters(set)}
      </Button>
      <div className="filters-body">{children}</div>
    </div>
  )
}

/** How many of these are set. */
export const countSet = (...values: readonly (string | boolean)[]): number =>
  values.filter(value => value !== '' && value !== false).length
