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
  const move = (to: number) => {
    const [up, down] = [texts.common.moveUp(nameOf(to)), texts.common.moveDown(nameOf(to))]
    focusFirst(() => (to < index ? [labelled(up), labelled(down)] : [labelled(down), labelled(up)]))
    onMove(to)
  }
  const remove = () => {
    const buttons = [...document.querySelectorAll<HTMLElement>('main button')]
    const before = buttons.slice(0, buttons.indexOf(document.activeElement as HTMLElement) + 1).reverse()
    focusFirst(() => [before.find(button => button.isConnected)])
    onRemove()
  }
  return (
    <Group gap={2} wrap="nowrap">
      {index > 0 && (
        <Tool label={texts.common.moveUp(nameOf(index))} icon={IconArrowUp} onClick={() => move(index - 1)} />
      )}
      {index < count - 1 && (
        <Tool label={texts.common.moveDown(nameOf(index))} icon={IconArrowDown} onClick={() => move(index + 1)} />
      )}
      <Tool label={`${texts.common.remove} ${nameOf(index)}`} icon={IconTrash} onClick={remove} />
    </Group>
  )
}

const labelled = (label: string) => document.querySelector<HTMLElement>(`button[aria-label=${JSON.stringify(label)}]`)

/** Once the list is drawn as it is then. */
function focusFirst(find: () => readonly (HTMLElement | null | undefined)[]): void {
  setTimeout(() =>
    find()
      .find(found => found !== null && found !== undefined)
      ?.focus(),
  )
}
