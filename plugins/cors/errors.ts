import { defineErrors } from 'svc/kernel'

/** Codes, statuses and texts as AWS has them. */
export const corsErrors = defineErrors({
  AccessForbidden: {
    status: 403,
    title:
      "CORSResponse: This CORS request is not allowed. This is usually because the evalution of Origin, request method / Access-Control-Request-Method or Access-Control-Request-Headers are not whitelisted by the resource's CORS spec.",
  },
  BadRequest: { status: 400, title: 'Insufficient information. Origin request header needed.' },
  NoSuchCORSConfiguration: { status: 404, title: 'The CORS configuration does not exist', verbatim: true },
})
