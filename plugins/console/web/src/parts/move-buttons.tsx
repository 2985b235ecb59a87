/** Buttons of an item in a list whose order matters: up, down, remove. The focus follows the item. */
import { Group } from '@mantine/core'
import { IconArrowDown, IconArrowUp, IconTrash } from '@tabler/icons-react'
import { texts } from '../texts/index.ts'
import { Tool } from './tool.tsx'

export interface MoveButtonsProps {
  /** The name of the item at a place, such as `behaviour 2`. */
  readonly nameOf: (index: number) => string
  readonly index: number
  readonly count: number
  readonly onMove: (to: number) => void
  readonly onRemove: () => void
}

export function MoveButtons({ nameOf, index, count, onMove, onRemove }: MoveButtonsProps) {
  const move = (label: (name: string) => string, to: number) => {
    focusFirst(() => document.querySelector<HTMLElement>(`button[aria-label=${JSON.stringify(label(nameOf(to)))}]`))
    onMove(to)
  }
  const remove = () => {
    const buttons = [...document.querySelectorAll<HTMLElement>('main button')]
    const before = buttons.slice(0, buttons.indexOf(document.activeElement as HTMLElement) + 1).reverse()
    focusFirst(() => before.find(button => button.isConnected))
    onRemove()
  }
  return (
    <Group gap={2} wrap="nowrap">
      {count > 1 && (
        <>
          <Tool
            label={texts.common.moveUp(nameOf(index))}
            icon={IconArrowUp}
            isOff={index === 0}
            onClick={() => move(texts.common.moveUp, index - 1)}
          />
          <Tool
            label={texts.common.moveDown(nameOf(index))}
            icon={IconArrowDown}
            isOff={index === count - 1}
            onClick={() => move(texts.common.moveDown, index + 1)}
          />
        </>
      )}
      <Tool label={`${texts.common.remove} ${nameOf(index)}`} icon={IconTrash} onClick={remove} />
    </Group>
  )
}

/** Once the list is drawn as it is then. */
function focusFirst(find: () => HTMLElement | null | undefined): void {
  setTimeout(() => find()?.focus())
}
