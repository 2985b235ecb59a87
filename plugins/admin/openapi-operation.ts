import { Type } from 'typebox'
import type { AdminOperation } from './api.ts'

/** `GET /openapi.json`, for every authenticated caller. Not in the catalogue, and not in the document itself. */
export function createDocumentOperation(makeDocument: () => object): AdminOperation {
  let document: object | undefined
  return {
    id: 'getOpenApiDocument',
    method: 'GET',
    path: '/openapi.json',
    tag: 'session',
    summary: 'This document.',
    authorize: 'self',
    response: Type.Object({}, { additionalProperties: true }),
    handle() {
      document ??= makeDocument()
      return document
    },
  }
}
