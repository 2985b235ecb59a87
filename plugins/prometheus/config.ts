import Type, { type Static } from 'typebox'

export const prometheusConfig = Type.Object({
  authType: Type.Union([Type.Literal('jwt'), Type.Literal('public')], {
    environmentOnly: true,
    default: 'jwt',
    description:
      'Who may scrape: jwt asks for a bearer token of an identity with admin:Prometheus, public lets everyone.',
  }),
})

export type PrometheusConfig = Static<typeof prometheusConfig>
