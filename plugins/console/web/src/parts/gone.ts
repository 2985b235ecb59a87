/** What goes on when its dialog or page is gone, and is told wherever somebody is by then. */
import { notifications } from '@mantine/notifications'
import { type RefObject, useEffect, useRef } from 'react'
import { texts } from '../texts/index.ts'

/** Whether what calls it is drawn no more. */
export function useIsGone(): RefObject<boolean> {
  const isGone = useRef(false)
  useEffect(() => {
    isGone.current = false
    return () => {
      isGone.current = true
    }
  }, [])
  return isGone
}

/** `title` of the dialog. */
export const notifyGoesOn = (title: string): void =>
  void notifications.show({ color: 'blue', message: texts.common.goesOn(title) })

/** For what needed an answer that nobody could give any more. */
export const notifyNotDone = (title: string): void =>
  void notifications.show({ color: 'orange', message: texts.common.isNotDone(title) })

/** For what its dialog would have shown. */
export const notifyNotShown = (title: string): void =>
  void notifications.show({ color: 'orange', message: texts.common.isNotShown(title) })

export const notifyDone = (title: string): void =>
  void notifications.show({ color: 'teal', message: texts.common.isDone(title) })
