/**
 * `node:http` as modules import it. Node reads all properties of a built-in module that is imported, also WebSocket, which loads a client
 * that nobody here uses: 70 ms of a processor in each process. Only what is named here can be imported by name.
 */
const http = process.getBuiltinModule('node:http')

export default http
export const {
  Agent,
  ClientRequest,
  IncomingMessage,
  METHODS,
  OutgoingMessage,
  STATUS_CODES,
  Server,
  ServerResponse,
  createServer,
  get,
  globalAgent,
  maxHeaderSize,
  request,
  validateHeaderName,
  validateHeaderValue,
} = http
