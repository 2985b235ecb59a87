import { type CatalogError, defineErrors } from 'svc/kernel'
import { formatAddress, type ListenAddress } from './address.ts'
import type { ListenerName } from './api.ts'
import { addressVariables } from './keys.ts'

export const httpErrors = defineErrors({
  address_unavailable: { status: 500, title: 'A listener could not be opened.' },
})

/** The error for an address that could not be bound, with the reason and the variable that changes the address. */
export function bindFailure(name: ListenerName, address: ListenAddress, error: NodeJS.ErrnoException): CatalogError {
  const variable = addressVariables[name]
  const where = formatAddress(address.host, address.port)
  return httpErrors.address_unavailable(`cannot listen on ${where}: ${reasonOf(error)}; ${variable} sets another one`, {
    cause: error,
  })
}

function reasonOf(error: NodeJS.ErrnoException): string {
  if (error.code === 'EADDRINUSE') return 'the address is in use'
  if (error.code === 'EACCES') return 'this port needs privileges that the server does not have'
  if (error.code === 'EADDRNOTAVAIL') return 'this machine does not have that address'
  return error.message
}
