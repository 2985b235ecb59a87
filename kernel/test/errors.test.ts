import { CatalogError, defineErrors, isCatalogError } from 'svc/kernel'
import t from 'tap'

t.test('a catalogue makes one function per code, with the entry as default', async t => {
  const errors = defineErrors({ too_big: { status: 400, title: 'It is too big.' } })
  const plain = errors.too_big()
  t.ok(isCatalogError(plain))
  t.match(plain, { code: 'too_big', status: 400, message: 'It is too big.' })
  const cause = new Error('inner')
  const detailed = errors.too_big('Key is 1025 bytes.', { cause, extra: { Key: 'k' } })
  t.ok(detailed instanceof CatalogError)
  t.match(detailed, { message: 'Key is 1025 bytes.', cause, extra: { Key: 'k' } })
})
