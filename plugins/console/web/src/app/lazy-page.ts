/**
 * A page that is loaded when it is first opened. While the server cannot be reached it is waited for: the router would load the whole
 * console again, and uploads that only wait for their connection would be lost.
 */
import { notifications } from '@mantine/notifications'
import { type AsyncRouteComponent, lazyRouteComponent } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { texts } from '../texts/index.ts'

const retryMs = 2000
const noticeId = 'unreachable'

type Component<Props> = (props: Props) => ReactNode

/** Suspends until it is loaded. */
export function lazyPage<Name extends string, Props extends object>(
  load: () => Promise<Readonly<Record<Name, Component<Props>>>>,
  name: Name,
): AsyncRouteComponent<Props> {
  const component: unknown = lazyRouteComponent(async () => ({ default: (await whenReachable(load))[name] }))
  return component as AsyncRouteComponent<Props>
}

async function whenReachable<Module>(load: () => Promise<Module>): Promise<Module> {
  for (;;) {
    try {
      const module = await load()
      notifications.hide(noticeId)
      return module
    } catch (error) {
      // The server is there and the file is not: it has been replaced by a newer console.
      if (await isReachable()) throw error
      notifications.show({ id: noticeId, color: 'red', message: texts.problems.unreachable, autoClose: false })
      await new Promise(done => setTimeout(done, retryMs))
    }
  }
}

async function isReachable(): Promise<boolean> {
  try {
    return (await fetch(document.baseURI, { method: 'HEAD', cache: 'no-store' })).ok
  } catch {
    return false
  }
}
