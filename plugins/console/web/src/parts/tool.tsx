/** A button that is an icon, with its name for pointer and screen reader. */
import { ActionIcon, Tooltip } from '@mantine/core'
import type { IconX } from '@tabler/icons-react'
import { useSignedIn } from '../app/signed-in.ts'
import { once } from './double-clicks.ts'

export interface ToolProps {
  readonly label: string
  readonly icon: typeof IconX
  readonly onClick: () => void
  readonly size?: 'sm' | 'md'
  /** Whoever may do none of these does not see it. */
  readonly needs?: readonly string[]
  /** Its request is under way. */
  readonly isBusy?: boolean
  /** A double click does it once. */
  readonly isOnce?: boolean
  /** Does nothing now, and keeps the focus. */
  readonly isOff?: boolean
}

export function Tool(props: ToolProps) {
  const { label, icon: Icon, onClick, size = 'md', needs, isBusy = false, isOnce = false, isOff = false } = props
  const { allowed } = useSignedIn()
  if (needs?.some(action => allowed.has(action)) === false) return null
  return (
    <Tooltip label={label}>
      <ActionIcon
        className="tool"
        size={size}
        variant="subtle"
        color="gray"
        aria-label={label}
        {...(isOff ? { 'aria-disabled': true, 'data-disabled': true } : { onClick })}
        loading={isBusy}
        {...(isOnce && once)}
      >
        <Icon size={size === 'sm' ? 14 : 16} />
      </ActionIcon>
    </Tooltip>
  )
}
