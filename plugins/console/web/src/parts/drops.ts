/** Files that are dragged over the page. */
import { useEffect } from 'react'

const isOfFiles = ({ dataTransfer }: DragEvent): boolean => dataTransfer?.types.includes('Files') === true

/** Where the page changes below the pointer, `dragenter` comes in the place of `dragover`: left to the browser, it would open what is dropped. */
const hoverEvents = ['dragenter', 'dragover'] as const
const dragEvents = [...hoverEvents, 'drop'] as const

/** Ignores files that are dropped outside a drop zone: the browser would leave the page to show them. */
export function useHarmlessDrops(): void {
  useEffect(() => {
    const refuse = (event: DragEvent) => {
      if (event.defaultPrevented || !isOfFiles(event)) return
      event.preventDefault()
      event.dataTransfer!.dropEffect = 'none'
    }
    // Behind everything within the page.
    for (const type of dragEvents) window.addEventListener(type, refuse)
    return () => {
      for (const type of dragEvents) window.removeEventListener(type, refuse)
    }
  }, [])
}

/** Takes files that are dropped anywhere on the page, but for dialogs; `onOver` is told when they come and leave. */
export function usePageDrops(
  isOpen: boolean,
  onOver: (isOver: boolean) => void,
  onDrop: (items: DataTransferItemList) => void,
): void {
  useEffect(() => {
    if (!isOpen) return
    const takes = (event: DragEvent) =>
      isOfFiles(event) && !(event.target instanceof Element && event.target.closest('[role=dialog]') !== null)
    const over = (event: DragEvent) => {
      const isTaken = takes(event)
      onOver(isTaken)
      if (isTaken) event.preventDefault()
    }
    const leave = ({ relatedTarget }: DragEvent) => {
      if (relatedTarget === null) onOver(false)
    }
    const drop = (event: DragEvent) => {
      onOver(false)
      if (!takes(event)) return
      event.preventDefault()
      onDrop(event.dataTransfer!.items)
    }
    for (const type of hoverEvents) document.addEventListener(type, over)
    document.addEventListener('dragleave', leave)
    document.addEventListener('drop', drop)
    return () => {
      for (const type of hoverEvents) document.removeEventListener(type, over)
      document.removeEventListener('dragleave', leave)
      document.removeEventListener('drop', drop)
    }
  })
}
