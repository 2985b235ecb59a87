import Type, { type Static } from 'typebox'

export const prometheusConfig = Type.Object({
  authType: Type.Union([Type.Literal('jwt'), Type.Literal('public')], {
    environmentOnly: true,
    default: 'jwt',
    description:
      'Access to metrics: jwt requires a bearer token of an identity with admin:Prometheus, public requires none.',
  }),
})

export type PrometheusConfig = Static<typeof prometheusConfig>
