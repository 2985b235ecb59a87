/** Runs the operator's program for each change: `PROGRAM present|cleanup NAME ZONE TTL VALUE`. */
import { spawn } from 'node:child_process'
import { type DnsProvider, type DnsRecord, PermanentDnsError } from 'svc/plugins/dns/api'
import type { CommandSettings } from './settings.ts'

/** The exit code by which the program says that another attempt would end in the same way, and that it has changed nothing. */
const permanentCode = 2
/** Characters of its standard error that are told. */
const reasonMax = 300

export function connectCommand(program: string, settings: CommandSettings): DnsProvider {
  const { server, keyName, secret } = settings
  const env = { PATH: process.env.PATH, DNS_SERVER: server, DNS_KEY_NAME: keyName, DNS_SECRET: secret }

  function run(change: 'present' | 'cleanup', record: DnsRecord, signal: AbortSignal): Promise<void> {
    const { name, zone, ttlSeconds, value } = record
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      // A group of its own: what the program has started ends with it. No shell sees the value.
      const child = spawn(program, [change, name, zone, `${ttlSeconds}`, value], {
        env,
        detached: true,
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      let reason = ''
      child.stderr.setEncoding('utf8').on('data', text => {
        reason = `${reason}${text}`.slice(0, reasonMax)
      })
      const abort = () => {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
        reject(signal.reason)
      }
      signal.addEventListener('abort', abort, { once: true })
      const end = () => signal.removeEventListener('abort', abort)
      child.once('error', error => {
        end()
        reject(new Error(`${program} cannot be run: ${error.message}`))
      })
      child.once('close', code => {
        end()
        if (code === 0) return resolve()
        const told = reason.replaceAll(secret, '*****').trim() || `it ended with code ${code}`
        reject(code === permanentCode ? new PermanentDnsError(told) : new Error(told))
      })
    })
  }

  return {
    present: (record, signal) => run('present', record, signal),
    cleanup: (record, signal) => run('cleanup', record, signal),
    // Nothing is kept between two changes.
    close: async () => {},
  }
}
