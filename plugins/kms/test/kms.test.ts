import { startKernel } from 'svc/testing'
import t from 'tap'
import { checkSecretKey } from '../config.ts'
import kms from '../index.ts'

const key = Buffer.alloc(32, 7).toString('base64')

t.test('a master key has a name and 32 bytes in base64; what is wrong is said without repeating it', async t => {
  t.equal(checkSecretKey(`default:${key}`), undefined)
  for (const wrong of ['', key, `:${key}`, `Upper:${key}`, `default:${key.slice(4)}`, `default:${key}!`, 'default:']) {
    const message = checkSecretKey(wrong)
    t.type(message, 'string', wrong)
    if (wrong.length > 10) t.notOk(message!.includes(wrong.slice(-10)))
  }
})

t.test('a key that is set is not taken for encryption that is not there', async t => {
  const kernel = await startKernel({ plugins: [kms], config: { kms: { secretKey: `default:${key}` } } })
  t.teardown(() => kernel.stop())
  t.ok(kernel.logs.some(line => String(line.msg).includes('encryption is not built yet')))
  t.notOk(JSON.stringify(kernel.logs).includes(key))
})
