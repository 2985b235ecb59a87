/** Changes that are on their way to the server, also when their dialog or page is gone: closing the window, or signing out, would end them unseen. */
let count = 0

export const isUnderWay = (): boolean => count > 0

/** Browsers ask before the window is closed or loaded anew. */
const ask = (event: BeforeUnloadEvent): void => event.preventDefault()

export async function underWay<T>(work: () => Promise<T>): Promise<T> {
  if (count++ === 0) addEventListener('beforeunload', ask)
  try {
    return await work()
  } finally {
    if (--count === 0) removeEventListener('beforeunload', ask)
  }
}
