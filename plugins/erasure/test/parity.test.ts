/** Parities as operators write them. */
import t from 'tap'
import { validateEndpoints } from '../endpoints.ts'
import { parseParity } from '../parity.ts'

t.test('a parity is EC:0 to EC:8, and at most half of the drives', t => {
  t.same(['EC:0', 'EC:8', 'EC:9', 'EC:10', 'EC:-1', '2', ''].map(parseParity), [0, 8, ...Array(5).fill(undefined)])
  const drives = Array.from({ length: 4 }, (_, index) => `/mnt/d${index}`)
  t.same(validateEndpoints(drives, 'EC:2', ''), [])
  t.match(validateEndpoints(drives, 'EC:3', ''), [/EC:3 needs at least 6 drives/])
  t.end()
})
