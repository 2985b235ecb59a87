/** What can be done with one item: the main thing as a button in words, the rest in a menu in words behind a button beside it. */
import { Button, Menu } from '@mantine/core'
import { IconChevronDown, type IconX } from '@tabler/icons-react'
import { useState } from 'react'
import { useSignedIn } from '../app/signed-in.ts'
import { texts } from '../texts/index.ts'
import { once } from './double-clicks.ts'
import { shownText } from './shown-text.ts'

export interface Action {
  readonly label: string
  readonly icon: typeof IconX
  readonly onClick?: () => void
  /** In the place of `onClick`, of the main one: what it downloads. */
  readonly href?: string
  /** Where the label and the name of the item make no sentence. */
  readonly named?: string
  /** Whoever may do none of these does not see it. */
  readonly needs?: readonly string[]
  /** It takes away what cannot be brought back. */
  readonly isDeletion?: boolean
  /** Its request is under way. */
  readonly isBusy?: boolean
  /** A double click does it once. */
  readonly isOnce?: boolean
}

export interface ActionsProps {
  /** The name of the item. */
  readonly of: string
  /** The first that the caller may do is the main one. */
  readonly actions: readonly Action[]
}

export function Actions({ of, actions }: ActionsProps) {
  const { allowed } = useSignedIn()
  const [main, ...rest] = actions.filter(({ needs }) => needs?.some(action => allowed.has(action)) !== false)
  if (main === undefined) return null
  const { label, onClick, href, isBusy = false, isDeletion = false, isOnce = false } = main
  const common = {
    className: 'tool',
    size: 'compact-sm',
    ...(isDeletion ? { variant: 'light', color: 'red' } : { variant: 'default' }),
    'aria-label': shownText(main.named ?? `${label} ${of}`),
  } as const
  return (
    <>
      {href === undefined ? (
        <Button {...common} {...(onClick !== undefined && { onClick })} loading={isBusy} {...(isOnce && once)}>
          {label}
        </Button>
      ) : (
        <Button {...common} component="a" href={href} download>
          {label}
        </Button>
      )}
      {rest.length > 0 && <MoreMenu of={of} actions={rest} />}
    </>
  )
}

export interface MoreMenuProps extends ActionsProps {
  /** As large as the buttons of a page. */
  readonly isLarge?: boolean
}

export function MoreMenu({ of, actions, isLarge = false }: MoreMenuProps) {
  const [button, setButton] = useState<HTMLButtonElement | null>(null)
  const [isOpen, setOpen] = useState(false)
  return (
    <Menu
      opened={isOpen}
      // A dialog that is opened from here gives the focus back to what has it now.
      returnFocus={false}
      // The first action gets the focus: an element for that alone has no place in a menu.
      withInitialFocusPlaceholder={false}
      onChange={opened => {
        setOpen(opened)
        if (!opened) button?.focus({ preventScroll: true })
      }}
      position="bottom-end"
      shadow="md"
      // Of a dialog nothing outside can be reached.
      portalProps={{ target: button?.closest<HTMLElement>('[role=dialog]') ?? '#content' }}
    >
      <Menu.Target>
        <Button
          ref={setButton}
          {...(isLarge ? { px: 10 } : { className: 'tool', size: 'compact-sm' })}
          variant="default"
          rightSection={<IconChevronDown size={14} aria-hidden />}
          aria-label={texts.common.moreFor(shownText(of))}
          loading={actions.some(({ isBusy }) => isBusy)}
        >
          {texts.common.moreActions}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {actions.map(({ label, icon: Icon, onClick, isDeletion = false, isOnce = false }, index) => (
          <Menu.Item
            key={label}
            {...(index === 0 && { 'data-autofocus': true })}
            leftSection={<Icon size={16} aria-hidden />}
            {...(isDeletion && { className: 'deletion' })}
            {...(onClick !== undefined && { onClick })}
            {...(isOnce && once)}
          >
            {label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}
