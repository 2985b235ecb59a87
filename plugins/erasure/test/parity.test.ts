/** Parities as operators write them. */
import standard from 'svc/plugins/standard'
import { startKernel, temporaryFolder } from 'svc/testing'
import t from 'tap'
import { checkParity, validateEndpoints } from '../endpoints.ts'
import { parseParity } from '../parity.ts'

t.test('a parity is EC:0 to EC:8, and at most half of the drives', t => {
  t.same(['EC:0', 'EC:8', 'EC:9', 'EC:10', 'EC:-1', '2', ''].map(parseParity), [0, 8, ...Array(5).fill(undefined)])
  const drives = Array.from({ length: 4 }, (_, index) => `/mnt/d${index}`)
  t.same(validateEndpoints(drives, 'EC:2', ''), [])
  t.match(validateEndpoints(drives, 'EC:3', ''), [/EC:3 needs at least 6 drives/])
  t.same(checkParity(1, ''), [])
  t.same(checkParity(1, 'EC:0'), [])
  t.end()
})

t.test('a parity that one folder cannot have is refused, instead of being ignored', async t => {
  const config = {
    http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0' },
    iam: { rootUser: 'admin', rootPassword: 'change-me-please' },
    storage: { endpoints: [temporaryFolder(t)] },
    erasure: { standard: 'EC:2' },
  }
  await t.rejects(startKernel({ plugins: standard, config }), {
    message: /SVC_STORAGE_CLASS_STANDARD=EC:2 needs at least 4 drives/,
  })
})
