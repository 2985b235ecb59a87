/** Places of `requests_max`: they are given back whatever becomes of a request, and nobody waits while there is one. */
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { pino } from 'pino'
import { createFakeClock, createSingleThread } from 'svc/testing'
import t from 'tap'
import type { ApiSettings } from '../api-settings.ts'
import { createRequestLimit, type Visitor } from '../request-limit.ts'

function start(requests_max: number, requests_deadline = 1000) {
  const clock = createFakeClock()
  const values = { requests_max, requests_deadline } as ApiSettings
  /** Undefined: they are known at once. */
  let reading: Promise<void> | undefined
  const api = { get: () => (reading === undefined ? values : reading.then(() => values)), list: () => [] }
  const limit = createRequestLimit({ api: api as never, threads: createSingleThread(pino({ level: 'silent' })), clock })
  const visitor = () => {
    const response = new EventEmitter() as ServerResponse
    const own = { exchange: { response }, isClosed: false, hasPlace: false }
    const close = () => {
      own.isClosed = true
      limit.leave(own)
      response.emit('close')
    }
    return { own: own as Visitor, close, response }
  }
  const read = () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    reading = promise
    return () => {
      reading = undefined
      resolve()
    }
  }
  return { clock, limit, visitor, read }
}

t.test('nobody waits, and nothing listens, while there is a place', async t => {
  const { limit, visitor } = start(2)
  const [first, second, third] = [visitor(), visitor(), visitor()]
  for (const { own, response } of [first, second]) {
    t.equal(limit.enter(own), undefined, 'no promise')
    t.equal(response.listenerCount('close'), 0)
  }
  const waiting = limit.enter(third.own)
  t.ok(waiting instanceof Promise)
  first.close()
  await waiting
  t.equal(third.own.hasPlace, true)
  t.equal(third.response.listenerCount('close'), 0)
  first.close()
  for (const { close } of [second, third]) close()
  for (const { own } of [visitor(), visitor()]) t.equal(limit.enter(own), undefined, 'each was given back once')
})

t.test('a client that leaves while the settings are read takes no place with it', async t => {
  const { limit, visitor, read } = start(1)
  const readNow = read()
  const gone = visitor()
  const entering = limit.enter(gone.own)
  gone.close()
  readNow()
  await entering
  t.equal(gone.own.hasPlace, false)
  t.equal(limit.enter(visitor().own), undefined, 'the only place is free')
})

t.test('who waits too long is refused, and so is who leaves meanwhile', async t => {
  const { clock, limit, visitor } = start(1)
  const holder = visitor()
  limit.enter(holder.own)
  const late = limit.enter(visitor().own)
  const leaving = visitor()
  const left = limit.enter(leaving.own)
  leaving.close()
  await t.rejects(Promise.resolve(left), { code: 'SlowDown' })
  const refused = t.rejects(Promise.resolve(late), { code: 'SlowDown', tags: { throttled: 'concurrency' } })
  await clock.advance(1000)
  await refused
  holder.close()
  t.equal(limit.enter(visitor().own), undefined)
})

t.test('a deadline of 0 refuses at once', t => {
  const { limit, visitor } = start(1, 0)
  limit.enter(visitor().own)
  t.throws(() => limit.enter(visitor().own), { code: 'SlowDown' })
  t.end()
})
