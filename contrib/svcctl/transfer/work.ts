/** Runs jobs with bounded concurrency: the next job is requested when a worker is free. */
export async function workThrough<T>(
  jobs: AsyncIterable<T> | Iterable<T>,
  workerCount: number,
  work: (job: T) => Promise<void>,
): Promise<void> {
  const iterator =
    Symbol.asyncIterator in jobs ? jobs[Symbol.asyncIterator]() : (jobs as Iterable<T>)[Symbol.iterator]()
  let hasEnded = false
  // An asynchronous generator queues calls of `next` by itself, in order.
  const worker = async () => {
    while (!hasEnded) {
      const next = await iterator.next()
      if (next.done) hasEnded = true
      else await work(next.value)
    }
  }
  const workers = Array.from({ length: workerCount }, worker)
  try {
    await Promise.all(workers)
  } catch (error) {
    hasEnded = true
    await Promise.allSettled(workers)
    throw error
  }
}

/** Reads up to `aheadMax` items ahead, so that a total is known early. */
export async function* ahead<T>(
  items: AsyncIterable<T>,
  aheadMax: number,
  onSeen: (item: T) => void,
): AsyncGenerator<T> {
  const queue: T[] = []
  let state = 'open' as 'open' | 'ended' | 'failed' | 'left'
  const is = (name: typeof state) => state === name
  let error: unknown
  let wakeReader = () => {}
  let wakeWriter = () => {}
  const reading = (async () => {
    try {
      for await (const item of items) {
        onSeen(item)
        queue.push(item)
        wakeReader()
        while (queue.length >= aheadMax && is('open')) await new Promise<void>(wake => (wakeWriter = wake))
        if (is('left')) return
      }
      state = 'ended'
    } catch (cause) {
      error = cause
      state = 'failed'
    }
    wakeReader()
  })()
  try {
    for (;;) {
      // By index and in slices: shifting a long array for each item is quadratic.
      const taken = queue.splice(0, 256)
      if (queue.length < aheadMax) wakeWriter()
      if (taken.length > 0) yield* taken
      else if (is('failed')) throw error
      else if (is('ended')) return
      else await new Promise<void>(wake => (wakeReader = wake))
    }
  } finally {
    state = 'left'
    wakeWriter()
    await reading
  }
}
