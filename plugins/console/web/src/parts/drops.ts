/** Files that are dragged over the page. */
import { useEffect } from 'react'

const isOfFiles = ({ dataTransfer }: DragEvent): boolean => dataTransfer?.types.includes('Files') === true

/** Ignores files that are dropped outside a drop zone: the browser would leave the page to show them. */
export function useHarmlessDrops(): void {
  useEffect(() => {
    const refuse = (event: DragEvent) => {
      if (event.defaultPrevented || !isOfFiles(event)) return
      event.preventDefault()
      event.dataTransfer!.dropEffect = 'none'
    }
    // Behind everything within the page.
    window.addEventListener('dragover', refuse)
    window.addEventListener('drop', refuse)
    return () => {
      window.removeEventListener('dragover', refuse)
      window.removeEventListener('drop', refuse)
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
    document.addEventListener('dragover', over)
    document.addEventListener('dragleave', leave)
    document.addEventListener('drop', drop)
    return () => {
      document.removeEventListener('dragover', over)
      document.removeEventListener('dragleave', leave)
      document.removeEventListener('drop', drop)
    }
  })
}
