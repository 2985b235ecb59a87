import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { hangProcesses } from 'svc/testing'
import t from 'tap'

const skip = process.platform === 'linux' ? false : 'it reads /proc'

t.test('a process hangs though one that it had begun has ended since', { skip }, async t => {
  const hung = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  t.teardown(() => hung.kill('SIGKILL'))
  const brief = spawn(process.execPath, ['-e', ''])
  const { pid: ended } = brief
  await once(brief, 'exit')
  await hangProcesses([hung.pid!, ended!])
  t.match(readFileSync(`/proc/${hung.pid}/stat`, 'utf8'), /\) T /)
  await t.rejects(hangProcesses([ended!, hung.pid!]), { code: 'ESRCH' }, 'what is to hang has ended')
})
