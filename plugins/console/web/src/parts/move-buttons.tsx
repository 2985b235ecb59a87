/** Buttons of an item in a list whose order matters: up, down, remove. */
import { Group } from '@mantine/core'
import { IconArrowDown, IconArrowUp, IconTrash } from '@tabler/icons-react'
import { texts } from '../texts/index.ts'
import { Tool } from './tool.tsx'

export interface MoveButtonsProps {
  /** The name of the item, such as `behaviour 2`. */
  readonly name: string
  readonly index: number
  readonly count: number
  readonly onMove: (to: number) => void
  readonly onRemove: () => void
}

export function MoveButtons({ name, index, count, onMove, onRemove }: MoveButtonsProps) {
  return (
    <Group gap={2} wrap="nowrap">
      {index > 0 && <Tool label={texts.common.moveUp(name)} icon={IconArrowUp} onClick={() => onMove(index - 1)} />}
      {index < count - 1 && (
        <Tool label={texts.common.moveDown(name)} icon={IconArrowDown} onClick={() => onMove(index + 1)} />
      )}
      <Tool label={`${texts.common.remove} ${name}`} icon={IconTrash} onClick={onRemove} />
    </Group>
  )
}
