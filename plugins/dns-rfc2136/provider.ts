/** A provider that is a DNS server which takes signed updates. */
import { randomInt } from 'node:crypto'
import type { Clock } from 'svc/kernel'
import { type DnsProvider, type DnsRecord, PermanentDnsError, parseNameserver } from 'svc/plugins/dns/api'
import type { AddressGuard } from 'svc/plugins/http-client/api'
import { exchange } from './exchange.ts'
import { updateMessage } from './message.ts'
import { type Rfc2136Settings, withoutDot } from './settings.ts'
import { readTsig, signMessage, type TsigKey, type TsigOfAnswer } from './tsig.ts'

export interface ConnectionContext {
  readonly guard: AddressGuard
  readonly clock: Clock
}

export function connectRfc2136(settings: Rfc2136Settings, { guard, clock }: ConnectionContext): DnsProvider {
  const server = parseNameserver(settings.nameserver)
  const key: TsigKey = {
    name: withoutDot(settings.tsigKeyName),
    algorithm: settings.tsigAlgorithm,
    secret: Buffer.from(settings.tsigSecret, 'base64'),
  }
  const fixedZone = withoutDot(settings.zone ?? '')
  const now = () => Math.floor(clock.now() / 1000)

  async function update(method: 'add' | 'remove', record: DnsRecord, signal: AbortSignal): Promise<void> {
    const zone = fixedZone === '' ? record.zone : fixedZone
    if (record.name !== zone && !record.name.endsWith(`.${zone}`)) {
      throw new PermanentDnsError(`${record.name} is not in the zone ${zone} of the provider`)
    }
    const message = updateMessage(method, { ...record, zone }, randomInt(0x10000))
    const { bytes, mac } = signMessage(message, key, now())
    const answer = await exchange(settings.transport, bytes, { server, guard, signal })
    const tsig = tsigOf(answer, mac)
    const problem = problemOf(answer.readUInt16BE(2) & 0xf, tsig, zone, settings.tsigKeyName)
    if (problem !== undefined) throw problem
  }

  function tsigOf(answer: Buffer, mac: Buffer): TsigOfAnswer | undefined {
    try {
      return readTsig(answer, key, mac, now())
    } catch (cause) {
      throw new Error(`the nameserver ${settings.nameserver} gave a malformed answer`, { cause })
    }
  }

  return {
    present: (record, signal) => update('add', record, signal),
    cleanup: (record, signal) => update('remove', record, signal),
    close: async () => {},
  }
}

/** `code`: RFC 2136, section 2.2. Undefined: the update succeeded, and the answer is signed with the key. */
function problemOf(code: number, tsig: TsigOfAnswer | undefined, zone: string, key: string): Error | undefined {
  const permanent = (message: string) => new PermanentDnsError(message)
  if (tsig?.error === 16)
    return permanent(`the server finds the signature wrong (BADSIG): the secret of the key ${key} is another one`)
  if (tsig?.error === 17) return permanent(`the server does not know the key ${key} with this algorithm (BADKEY)`)
  if (tsig?.error === 18)
    return new Error('the clocks of this machine and of the server differ by more than 5 minutes (BADTIME)')
  if (code === 0) {
    if (tsig?.isAuthentic) return undefined
    return new Error('the answer is not signed with the key, so it may be forged; the update may have succeeded')
  }
  if (code === 5)
    return permanent(`the server refuses the update (REFUSED): the key ${key} may not change the zone ${zone}`)
  if (code === 9)
    return permanent(`the server is not authoritative for the zone ${zone}, or does not take the key ${key} (NOTAUTH)`)
  if (code === 10) return permanent(`the name is not in the zone ${zone} (NOTZONE)`)
  if (code === 4) return permanent('the server takes no updates (NOTIMP)')
  return new Error(
    code === 2 ? 'the server could not make the update (SERVFAIL)' : `the server answers with code ${code}`,
  )
}
