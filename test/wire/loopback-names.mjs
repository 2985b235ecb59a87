/** Loaded before a server: the name service of these tests, in which the names of TEST_LOOPBACK_NAMES lead to 127.0.0.1. */
import dns from 'node:dns'
import { syncBuiltinESMExports } from 'node:module'

const names = new Set(process.env.TEST_LOOPBACK_NAMES?.split(','))
const addressOf = name => (names.has(name) ? '127.0.0.1' : name)
const { lookup } = dns
const { lookup: lookupLater } = dns.promises

dns.lookup = (name, ...rest) => lookup(addressOf(name), ...rest)
dns.promises.lookup = (name, ...rest) => lookupLater(addressOf(name), ...rest)
syncBuiltinESMExports()
